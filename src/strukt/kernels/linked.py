"""Compilation of functions that only kernels call: to LLVM code, which their callers link.

By default Numba also turns each of these functions into machine code, which nothing runs, with wrappers for calls
from Python, and compiles it again for each literal integer that is passed to it. Kernels would take 1.5 times as
long to compile. Numba also optimises each function in full, and then the kernels that contain it in full: a
quarter of the compilation time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class LinkedLibrary(JITCodeLibrary):
    """The code of a function and everything it calls, for linking into other functions only."""

    def _optimize_final_module(self) -> None:
        """Optimise the module once, not twice as the base class does: kernels optimise all linked code again."""
        codegen = self._codegen
        if not hasattr(codegen, "_pass_builder"):  # a Numba with LLVM's older passes
            super()._optimize_final_module()
            return
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Finalise the module as the base class does, but do not add it to LLVM's execution engine."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """Lowering to a library for linking, without a pointer to machine code.

    The function has no Numba environment: it must not build exceptions from values, or use Python objects.
    """

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function, and register its library for the functions that call it."""
        state.library = library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        function = lowered.fndesc
        nowhere = make_function(function.lookup_module(), function.qualname, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(nowhere, function, [library])
        state["cr"] = lowered._replace(cfunc=nowhere)
        return True


class LinkedCompiler(Compiler):
    """Numba's compiler with the lowering above."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the pipeline of Numba, with its lowering replaced."""
        (pipeline,) = super().define_pipelines()
        place = [step for step, _ in pipeline.passes].index(NativeLowering)
        pipeline.passes[place] = (LinkedLowering, "lowering for linking")
        pipeline.finalize()
        return [pipeline]


def linked(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function for its callers only, once for all integers.

    Args:
        function: The function. A call from Python would crash.
        options: Options of `numba.njit`.
    """
    options = options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(pipeline_class=LinkedCompiler, **options)(function)
    template_of = compiled.get_call_template

    def template_of_any(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template_of(tuple(map(_any_integer, args)), {name: _any_integer(kws[name]) for name in kws})

    compiled.get_call_template = template_of_any
    return compiled


def _any_integer(kind: Any) -> Any:
    """Return the integer type of a literal integer, and any other type of Numba unchanged."""
    return kind.literal_type if isinstance(kind, types.IntegerLiteral) else kind
