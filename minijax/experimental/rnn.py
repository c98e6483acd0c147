"""The public module `minijax.experimental.rnn`: LSTM networks."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.nn.activations": "sigmoid",
    "surface.numpy.ufuncs": "tanh",
    "surface.recurrent.lstm": """
        lstm lstm_bwd lstm_fwd lstm_ref rnn_abstract_eval rnn_bwd_abstract_eval rnn_bwd_p
        rnn_fwd_p
    """,
    "surface.recurrent.weights": """
        PRNGKeyArray get_num_params_in_lstm init_lstm_weight swap_lstm_gates
        unpack_lstm_weights
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
