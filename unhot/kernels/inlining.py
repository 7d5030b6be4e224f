"""How numba compiles functions that only kernels call: to LLVM code, which becomes part of the kernels.

Left alone, numba optimises every such function, makes machine code of it and wraps it for Python, although
only its inlined copies ever run. Here its LLVM code is kept as it is: a kernel is optimised once, as a whole.
The code is also kept on disk, so that a kernel for another layer compiles only what differs.
"""

from typing import Any

from llvmlite import binding as llvm
from numba.core import codegen
from numba.core.compiler import CompilerBase, DefaultPassBuilder, compile_result
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, BaseNativeLowering, NativeLowering
from numba.core.untyped_passes import LiteralUnroll, RewriteDynamicRaises, WithLifting

from unhot.kernels.cache import Implementation, KernelCache

# for `with` blocks, exceptions made at run time, loops over mixed tuples, and listings: no kernel has these
SKIPPED = (WithLifting, RewriteDynamicRaises, LiteralUnroll, AnnotateTypes)


class InlinedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The LLVM code of a function and of all that it calls, to be linked into kernels."""

    def _optimize_functions(self, module: Any) -> None:
        """Keep variables in registers and drop what is not used: the kernel then starts from less code."""
        module.data_layout = self._codegen._data_layout
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_dead_code_elimination_pass()
        builder = self._codegen._pass_builder()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel is optimised instead."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class KernelLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with all that it calls, optimised once."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Run the full passes alone: the cheap ones before them look for references, which we never count."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class InlinedLowering(NativeLowering):  # type: ignore[misc]
    """Lower a function into a library of its own, and tell callers where it is."""

    _name = "inlined_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower without wrappers and machine code."""
        state.library = InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        state["cr"] = lowered._replace(cfunc=announce(state.targetctx, lowered.fndesc, state.library))
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):  # type: ignore[misc]
    """Lower a kernel into a library that is optimised once."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower as usual."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


def announce(target_context: Any, description: Any, library: InlinedLibrary) -> Any:
    """Make a function known to callers, and return the key by which they find it.

    The key must be a builtin that is not equal to another. Python code that calls the function calls the key
    instead, which fails: only kernels can call the function.
    """
    key = dict[str, str]().popitem
    target_context.insert_user_function(key, description, [library])
    return key


def passes_with(state: Any, lowering: type[BaseNativeLowering]) -> list[Any]:
    """Return numba's passes, with our lowering and without those that no kernel needs."""
    passes = PassManager("kernels")
    for kind, description in DefaultPassBuilder.define_nopython_pipeline(state).passes:
        if kind not in SKIPPED:
            passes.add_pass(lowering if kind is NativeLowering else kind, description)
    passes.finalize()
    return [passes]


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles entry points."""

    def define_pipelines(self) -> list[Any]:
        """Numba's hook."""
        return passes_with(self.state, KernelLowering)


class InlinedCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles functions that kernels call, or finds them on disk."""

    def define_pipelines(self) -> list[Any]:
        """Numba's hook."""
        return passes_with(self.state, InlinedLowering)

    def compile_extra(self, func: Any) -> Any:
        """Numba's hook."""
        cache, types = InlinedCache(func), tuple(self.state.args)
        found = cache.load_overload(types, self.state.targetctx)
        if found is None:
            found = super().compile_extra(func)
            cache.save_overload(types, found)
        return found


class InlinedImplementation(Implementation):
    """What is kept of a function: its LLVM code, its name and its types."""

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """Return what is pickled."""
        cres.library._ensure_finalized()
        cres.fndesc.typemap = cres.fndesc.calltypes = None
        return cres.library.name, cres.library._final_module.as_bitcode(), cres.fndesc, cres.signature

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        """Return the function as if it had just been compiled."""
        name, code, description, signature = payload
        library = InlinedLibrary(target_context.codegen(), name)
        library._final_module = llvm.parse_bitcode(code)
        library._finalized = True
        return compile_result(
            target_context=target_context,
            library=library,
            fndesc=description,
            signature=signature,
            entry_point=announce(target_context, description, library),
            objectmode=False,
            lifted=(),
        )


class InlinedCache(KernelCache):
    """The cache of functions that kernels call."""

    _impl_class = InlinedImplementation
