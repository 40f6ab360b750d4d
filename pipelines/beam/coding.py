"""How Beam carries elements from step to step."""

import pickle
from functools import partial

from apache_beam.coders import coder_impl
from apache_beam.coders.coders import FastCoder
from apache_beam.coders.typecoders import registry


class Element:
    """The type of all of them, as the graph declares it to Beam."""


class ElementCoder(FastCoder):
    """Pickles elements without telling sizes, for which Beam's own coder pickles many of them."""

    encoder = staticmethod(partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL))

    def _create_impl(self) -> coder_impl.CoderImpl:
        return coder_impl.CallbackCoderImpl(self.encoder, pickle.loads, size_estimator=lambda _: 0)

    def is_deterministic(self) -> bool:
        """Elements are no keys."""
        return False


registry.register_coder(Element, ElementCoder)
