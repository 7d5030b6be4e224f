"""How kernels are compiled and dispatched. Only jit.py, inlining.py and cache.py use numba.

    @kernel            an entry point called from Python: compiled on first use, without the GIL, kept on disk
    @inner             a function called by kernels
    @block(twin)       vector code written as LLVM IR (see simd/), with a twin in plain Python
    @generic           a function that has one implementation per type of its first argument, a NamedTuple:
                       `@function.register(Type)`. This is how an output layer plugs its own code into the
                       compiled loop.

With `NUMBA_DISABLE_JIT=1` all of them are plain Python, slow and easy to step through. A block is then
replaced by its twin.
"""

import inspect
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import numba
import numpy as np
from numba.core import types as nb
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from unhot.kernels.cache import KernelCache
from unhot.kernels.inlining import InlinedCompiler, KernelCompiler
from unhot.kernels.simd.lanes import FAST

ENABLED = not numba.config.DISABLE_JIT

# `_nrt`: kernels allocate nothing, so they need no reference counts (which alone took 100 ns a window).
FLAGS: dict[str, Any] = {"nogil": True, "fastmath": set(FAST), "error_model": "numpy", "_nrt": False}
INLINE: dict[str, Any] = {
    **FLAGS,
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InlinedCompiler,
}


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call; it is inlined into them."""
    return numba.njit(**INLINE)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point and keep it on disk."""
    if not ENABLED:
        return np.errstate(over="ignore")(function)  # random bits wrap around
    dispatcher = numba.njit(**FLAGS, no_cfunc_wrapper=True, pipeline_class=KernelCompiler)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher


def block(twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make an LLVM emitter callable from kernels; without the JIT, return its twin.

    The emitter is called as `emit(types, builder, *arguments)`, with the numba types of the arguments, the
    LLVM builder and the arguments; an array is passed as the pointer to its data. The return annotation of
    the emitter is the type of the result: `float` (float32), `int` (int64) or None.
    """

    def decorate(emit: Callable[..., Any]) -> Any:
        if not ENABLED:
            return twin
        returns = inspect.signature(emit, eval_str=True).return_annotation
        result: Any = {float: nb.float32, int: nb.int64}.get(returns, nb.void)

        def typing(_context: Any, *argument_types: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                values = [
                    make_array(t)(context, builder, v).data if isinstance(t, nb.Array) else v
                    for t, v in zip(signature.args, values, strict=True)
                ]
                out = emit(signature.args, builder, *values)
                return context.get_dummy_value() if out is None else out

            return result(*argument_types), codegen

        # numba reads the parameters from the signature: the typing context, then the parameters of the twin
        context = inspect.Parameter("_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [context, *inspect.signature(twin).parameters.values()]
        typing.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        typing.__name__, typing.__module__ = twin.__name__, twin.__module__
        return intrinsic(typing)

    return decorate


Function = TypeVar("Function", bound=Callable[..., Any])


class Generic(Protocol):
    """A function with one implementation per type of its first argument."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the implementation for the type of the first argument."""

    def register(self, kind: type) -> Callable[[Function], Function]:
        """Make a function the implementation for a type."""

    def knows(self, kind: type) -> bool:
        """Return whether a type has an implementation."""


def generic(declaration: Callable[..., Any]) -> Generic:
    """Dispatch on the type of the first argument, at compile time in kernels and at call time in Python.

    What is registered for `object` serves all types that have nothing of their own.
    """
    implementations: dict[type, Callable[..., Any]] = {}

    def call(first: Any, *rest: Any) -> Any:
        return implementation(type(first))(first, *rest)  # type: ignore[misc]

    def implementation(kind: type) -> Callable[..., Any] | None:
        return implementations.get(kind, implementations.get(object))

    def register(kind: type) -> Callable[[Function], Function]:
        def decorate(function: Function) -> Function:
            # a function that is already compiled is registered too, as plain Python
            implementations[kind] = getattr(function, "py_func", function)
            return function

        return decorate

    call.__name__, call.__doc__ = declaration.__name__, declaration.__doc__
    call.register, call.knows = register, implementations.__contains__  # type: ignore[attr-defined]
    if ENABLED:
        overload(call, strict=False, jit_options=INLINE)(
            lambda first, *rest: implementation(getattr(first, "instance_class", object))
        )
    return cast(Generic, call)
