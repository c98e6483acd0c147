"""The public module `minijax.experimental.rnn`: LSTM networks."""

from ..surface.nn.activations import sigmoid as sigmoid
from ..surface.numpy.ufuncs import tanh as tanh
from ..surface.recurrent.lstm import lstm as lstm
from ..surface.recurrent.lstm import lstm_bwd as lstm_bwd
from ..surface.recurrent.lstm import lstm_fwd as lstm_fwd
from ..surface.recurrent.lstm import lstm_ref as lstm_ref
from ..surface.recurrent.lstm import rnn_abstract_eval as rnn_abstract_eval
from ..surface.recurrent.lstm import rnn_bwd_abstract_eval as rnn_bwd_abstract_eval
from ..surface.recurrent.lstm import rnn_bwd_p as rnn_bwd_p
from ..surface.recurrent.lstm import rnn_fwd_p as rnn_fwd_p
from ..surface.recurrent.weights import PRNGKeyArray as PRNGKeyArray
from ..surface.recurrent.weights import get_num_params_in_lstm as get_num_params_in_lstm
from ..surface.recurrent.weights import init_lstm_weight as init_lstm_weight
from ..surface.recurrent.weights import swap_lstm_gates as swap_lstm_gates
from ..surface.recurrent.weights import unpack_lstm_weights as unpack_lstm_weights

__all__ = [
    "PRNGKeyArray", "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_bwd",
    "lstm_fwd", "lstm_ref", "rnn_abstract_eval", "rnn_bwd_abstract_eval", "rnn_bwd_p",
    "rnn_fwd_p", "sigmoid", "swap_lstm_gates", "tanh", "unpack_lstm_weights"
]
