"""Configuration of Sphinx for the site (`make docs`); pages.py writes its pages first."""

project = "minijax"
author = "the minijax authors"
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "minijax"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
exclude_patterns = ["book/[a-z]*.py"]  # modules that chapters import

# Notebooks are kept as plain text in percent format, and run while the site is built.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
