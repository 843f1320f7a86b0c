"""Pairs of StableHLO texts that no Python source produces. The two programs of a pair differ in a detail that the
fingerprint must include ("miss"), or only in details that it must ignore ("hit"). Read by test_edits.py, run by
edits.py.
"""

VECTOR = "tensor<4xf32>"


def module(functions):
    return f"module @jit_f {{\n{functions}}}\n"


def function(head, body):
    return f"func.func {head} -> {VECTOR} {{\n{body}\n  return %r : {VECTOR}\n}}\n"


def main(text, arguments="", functions=""):
    return module(function(f"public @main(%x: {VECTOR}{arguments})", f"  %r = {text}") + functions)


def unary(name, operation):
    return function(f"private @{name}(%x: {VECTOR})", f"  %r = stablehlo.{operation} %x : {VECTOR}")


def calls(first, second, functions):
    call = f"call @{first}(%x) : ({VECTOR}) -> {VECTOR}\n  %r = call @{second}(%y) : ({VECTOR}) -> {VECTOR}"
    return main(call, "", functions).replace("%r = call", "%y = call", 1)


def exponential(attributes=""):
    return main(f"stablehlo.exponential %x {attributes} : {VECTOR}")


def accuracy(mode, tolerance):
    mode = f"#stablehlo.result_accuracy_mode<{mode}>"
    value = f"#stablehlo.result_accuracy<atol = {tolerance}, rtol = 0.0, ulps = 0, mode = {mode}>"
    return exponential(f"{{result_accuracy = {value}}}")


def frontend(attributes):
    return exponential(f"{{mhlo.frontend_attributes = {{{attributes}}}}}")


def custom_call(attributes, functions=""):
    return main(f"stablehlo.custom_call @target(%x) {{{attributes}}} : ({VECTOR}) -> {VECTOR}", "", functions)


def sine(arguments="", functions=""):
    return main(f"stablehlo.sine %x : {VECTOR}", arguments, functions)


def constant(bits):
    return main(f"stablehlo.constant dense<{bits}> : {VECTOR}")


def flags(bits):
    made = main(f"stablehlo.custom_call @target(%c) : (tensor<8xi1>) -> {VECTOR}")
    return made.replace("  %r", f"  %c = stablehlo.constant dense<{bits}> : tensor<8xi1>\n  %r", 1)


A, B = unary("a", "sine"), unary("b", "cosine")
BOTH, SWAPPED = A + B, unary("b", "sine") + unary("a", "cosine")
SHARDY = "xla.sdy.manual_computation_body"
DONATED = " {jax.buffer_donor = true}"

MODULES = [
    ("private functions in another order", "hit", calls("a", "b", A + B), calls("a", "b", B + A)),
    ("private functions renamed crosswise", "hit", calls("a", "b", BOTH), calls("b", "a", SWAPPED)),
    ("module renamed", "hit", exponential(), exponential().replace("jit_f", "jit_g")),
    ("default accuracy or none", "hit", exponential(), accuracy("DEFAULT", "0.0")),
    ("order of a dictionary", "hit", frontend('a = "1", b = "2"'), frontend('b = "2", a = "1"')),
    ("names of arguments", "hit", *(sine(f', %y: {VECTOR} {{jax.arg_info = "{name}"}}') for name in "yz")),
    ("order of calls", "miss", calls("a", "b", BOTH), calls("b", "a", BOTH)),
    ("bodies of functions swapped", "miss", calls("a", "b", BOTH), calls("a", "b", SWAPPED)),
    ("one function twice", "miss", calls("a", "b", BOTH), calls("a", "a", BOTH)),
    ("a function that is public", "miss",
     *(calls("a", "b", A.replace("private", v) + B) for v in ("private", "public"))),
    # XLA treats calls of a function with this name specially.
    ("function whose name XLA knows", "miss", *(calls(name, name, unary(name, "sine")) for name in ("a", SHARDY))),
    ("functions of a module in the module", "miss",
     *(sine("", f"module @b {{\n{inner}}}\n") for inner in (BOTH, SWAPPED))),
    ("called computation", "miss", *(custom_call(f"called_computations = [@{name}]", BOTH) for name in "ab")),
    ("text that names a function", "miss", *(custom_call('backend_config = "a"', part) for part in (BOTH, SWAPPED))),
    ("symbol in a configuration", "miss",
     *(custom_call("mhlo.backend_config = {f = @a}", part) for part in (BOTH, SWAPPED))),
    ("number called like a reference", "miss", *(custom_call(f"callee = {number} : i32") for number in (5, 6))),
    ("width of a number", "miss", *(custom_call(f"mhlo.size = 5 : {kind}") for kind in ("i32", "i64"))),
    ("number or text", "miss", custom_call("mhlo.size = 5 : i32"), custom_call('mhlo.size = "5"')),
    ("nesting of lists", "miss", custom_call("mhlo.n = [[1 : i32], []]"), custom_call("mhlo.n = [[], [1 : i32]]")),
    ("values of a dictionary swapped", "miss", frontend('a = "1", b = "2"'), frontend('a = "2", b = "1"')),
    ("accuracy", "miss", exponential(), accuracy("HIGHEST", "0.0")),
    ("tolerance", "miss", accuracy("TOLERANCE", "1.0e-3"), accuracy("TOLERANCE", "1.0e-4")),
    ("which argument is donated", "miss",
     sine(f", %y: {VECTOR}{DONATED}, %z: {VECTOR}"), sine(f", %y: {VECTOR}, %z: {VECTOR}{DONATED}")),
    ("payload of a NaN", "miss", constant("0x7FC00000"), constant("0x7FC00001")),
    ("splat or one of eight", "miss", flags("true"), flags("[true" + ", false" * 7 + "]")),
]
