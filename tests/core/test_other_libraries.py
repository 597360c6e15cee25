"""Habits from other libraries: their methods, SciPy's functions, sparse matrices, ragged data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special

import wengert as wg
from wengert.core.table import SCIPY_UFUNCS
from wengert.core.tensor import Tensor
from wengert.core.words.foreign_names.elsewhere import REPAIRS
from wengert.errors import CheckpointError, DTypeError, MissingAttribute, TraceError

x = np.ones((3, 3))
BOTH = pytest.mark.parametrize("transform", [wg.grad, wg.compile])


@BOTH
@pytest.mark.parametrize("name", REPAIRS)
def test_a_method_of_another_library_is_told_its_name_here(name, transform):
    with pytest.raises(
        AttributeError, match=rf"Tensor\.{name}: .*\(test_other_libraries\.py:\d+\)"
    ):
        transform(lambda x: getattr(x, name)())(x)


@pytest.mark.parametrize("name", REPAIRS)
def test_no_repair_is_of_a_method_that_exists(name):
    assert name not in dir(Tensor)


WRITTEN = {
    "view": lambda x: x.reshape((9,)),
    "permute": lambda x: x.transpose((1, 0)),
    "unsqueeze": lambda x: wg.expand_dims(x, 0),
    "detach": lambda x: wg.stop_gradient(x),
    "expand": lambda x: wg.broadcast_to(x, (2, 3, 3)),
    "clamp": lambda x: wg.clip(x, 0, 1),
    "gather": lambda x: wg.take_along_axis(x, np.zeros((3, 1), int), 1),
    "index_select": lambda x: wg.take(x, np.array([0]), 0),
    "masked_fill": lambda x: wg.where(x > 0, 2, x),
    "norm": lambda x: wg.linalg.norm(x),
    "chunk": lambda x: wg.split(x, 3)[0],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_repair_works(name):
    names = set(WRITTEN[name].__code__.co_names) - {"np", "wg", "int"}
    assert any(f".{each}(" in REPAIRS[name] for each in names)
    wg.compile(WRITTEN[name])(x)


def test_functions_of_ours_and_near_misses_are_named():
    for name, words in {
        "exp": r"Write wg\.exp\(x\)",
        "softmax": r"Write wg\.softmax\(x\)",
        "reshap": r"Write x\.reshape\.",
        "colour": "Write it with the functions of wg",
    }.items():
        with pytest.raises(MissingAttribute, match=words):
            wg.compile(lambda x, name=name: getattr(x, name))(x)


def test_hasattr_works_and_what_exists_is_found():
    seen = []
    wg.compile(
        lambda x: seen.append([hasattr(x, n) for n in ("view", "__view__", "sum", "T")]) or x
    )(x)
    assert seen == [[False, False, True, True]]
    assert wg.compile(lambda x: x.squeeze())(np.ones((1, 3))).shape == (3,)


@BOTH
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (scipy.special.exp1, r"scipy\.special\.exp1: .*this SciPy function is not recorded"),
        (scipy.special.zeta, r"scipy\.special\.zeta: .*this SciPy function is not recorded"),
        (scipy.special.lambertw, r"scipy\.special\.lambertw: .*this SciPy function is not"),
        (scipy.special.softmax, r"scipy\.special\.softmax: .*Write wg\.softmax\."),
        (scipy.special.logsumexp, r"scipy\.special\.logsumexp: .*Write wg\.logsumexp\."),
        (scipy.linalg.norm, r"scipy\.linalg\.norm: .*Write wg\.linalg\.norm\."),
        (scipy.linalg.cholesky, r"scipy\.linalg\.cholesky: .*Write wg\.linalg\.cholesky\."),
        (
            lambda x: scipy.linalg.solve_triangular(x, x),
            r"scipy\.linalg\.solve_triangular: .*Write wg\.linalg\.solve_triangular\.",
        ),
        (
            lambda x: scipy.linalg.cho_solve((x, True), np.ones(3)),
            r"scipy\.linalg\.cho_solve: .*Write wg\.linalg\.cho_solve\.",
        ),
        (scipy.linalg.sqrtm, r"scipy\.linalg\.sqrtm: .*Write wg\.linalg\.sqrtm\."),
        (scipy.linalg.logm, r"scipy\.linalg\.logm: .*Its result is complex"),
    ],
)
def test_a_function_of_scipy_is_named_as_such(function, words, transform):
    with pytest.raises(TraceError, match=words + r".*\(test_other_libraries\.py:\d+\)"):
        transform(lambda x: wg.sum(function(x)))(x)


UFUNCS = {
    "one": (
        *("cbrt", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp10", "exp2", "expit"),
        *(
            "expm1",
            "gamma",
            "gammaln",
            "gammasgn",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "j0",
            "j1",
            "log1p",
            "log_expit",
        ),
        *("log_ndtr", "logit", "ndtr", "ndtri", "psi", "rgamma", "y0", "y1"),
    ),
    "two": (
        "beta",
        "betaln",
        "gammainc",
        "gammaincc",
        "gammaincinv",
        "iv",
        "ive",
        "kl_div",
        "rel_entr",
        "xlog1py",
        "xlogy",
    ),
    "three": ("betainc",),
}
COUNTS = [
    (name, ("one", "two", "three").index(kind) + 1)
    for kind, each in UFUNCS.items()
    for name in each
]


@pytest.mark.parametrize(("name", "count"), COUNTS)
def test_a_ufunc_of_scipy_is_recorded(name, count):
    theirs = getattr(scipy.special, name)
    operands = [np.array([0.2, 0.45, 0.8]), np.array([0.4, 0.3, 0.9]), np.array([0.6, 0.2, 0.5])]
    operands = operands[:count]
    expected = theirs(*operands)
    np.testing.assert_allclose(wg.compile(theirs)(*operands), expected, rtol=1e-11)
    value, gradients = wg.value_and_grad(
        lambda *given: wg.sum(theirs(*given)), argnums=range(count)
    )(*operands)
    np.testing.assert_allclose(value, np.sum(expected), rtol=1e-11)
    for i, found in enumerate(gradients):
        moved = [[x + (d if i == j else 0) for j, x in enumerate(operands)] for d in (1e-6, -1e-6)]
        slope = (theirs(*moved[0]) - theirs(*moved[1])) / 2e-6
        np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-8)


def test_bessel_functions_as_scipy_calls_them():
    x, n = np.array([0.3, 2.0, 14.0]), np.array([0, 3, -2])
    for theirs in (scipy.special.jn, scipy.special.yn):
        expected = theirs(n, x)
        for run in (lambda f: lambda x: wg.vjp(f, x)[0], wg.compile):
            np.testing.assert_allclose(run(lambda x: theirs(n, x))(x), expected, rtol=1e-12)  # noqa: B023
            np.testing.assert_allclose(run(lambda x: theirs(2, x))(x), theirs(2, x), rtol=1e-12)  # noqa: B023
    whole = wg.compile(lambda x: scipy.special.jv(2.0, x))(x)
    np.testing.assert_allclose(whole, scipy.special.jv(2.0, x), rtol=1e-12)
    with pytest.raises(DTypeError, match=r"jn: given orders of dtype float64; .* an integer"):
        wg.compile(lambda x: scipy.special.jv(0.5, x))(x)


def test_every_recorded_ufunc_is_one_of_scipy():
    assert {name for name, _ in COUNTS} | {"jv", "yn"} == set(SCIPY_UFUNCS)
    assert all(isinstance(getattr(scipy.special, name), np.ufunc) for name in SCIPY_UFUNCS)


EDGED = ["gamma", "gammasgn", "rgamma", "entr", "rel_entr", "kl_div", "xlog1py", "exp10"]


@pytest.mark.parametrize("name", EDGED)
def test_a_ufunc_of_scipy_at_its_edges(name):
    theirs = getattr(scipy.special, name)
    edges = np.array([-2.5, -2.0, -1.5, -0.5, -0.0, 0.0, 0.5, 3.0, np.inf, np.nan])
    operands = [edges] if theirs.nin == 1 else list(np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        expected = theirs(*operands)
    np.testing.assert_allclose(wg.compile(theirs)(*operands), expected, rtol=1e-13)


def test_the_inverse_gamma_function_has_slopes_at_its_zeros():
    """At 0, -1, -2 … these are (-1)ⁿ n!."""
    zeros = -np.arange(6.0)
    found = wg.grad(lambda x: wg.sum(scipy.special.rgamma(x)))(zeros)
    np.testing.assert_allclose(found, [1, -1, 2, -6, 24, -120], rtol=1e-14)
    far = np.array([-170.5, -171.0, 170.0, 200.0, 1e6])
    with np.errstate(all="ignore"):
        expected = scipy.special.rgamma(far)
    np.testing.assert_allclose(wg.compile(scipy.special.rgamma)(far), expected, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 3, np.int64(5)])
def test_the_gamma_function_of_matrices(d):
    a = np.array([[2.1, 3.5, 7.0], [2.05, 40.0, 3.0]])
    expected = scipy.special.multigammaln(a, d)
    np.testing.assert_allclose(wg.multigammaln(a, d), expected, rtol=1e-13)
    np.testing.assert_allclose(wg.compile(wg.multigammaln, static=1)(a, d), expected, rtol=1e-13)
    wg.check_grads(lambda a: wg.multigammaln(a, d), [a])
    assert wg.compile(lambda a: wg.multigammaln(a, d))(a.astype(np.float32)).dtype == np.float32
    assert np.isnan(wg.multigammaln(np.array([(d - 1) / 2, -0.5]), d)).all()


def test_a_size_of_matrices_that_is_none():
    for d in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match=r"multigammaln: d=.* an integer from 1"):
            wg.multigammaln(3.0, d)


def test_solving_as_scipy_calls_it():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 4)) + 4 * np.eye(4), rng.standard_normal((4, 2))
    for trans in (0, 1, "N", "T"):
        for lower in (False, True):
            for unit in (False, True):
                options = {"trans": trans, "lower": lower, "unit_diagonal": unit}
                expected = scipy.linalg.solve_triangular(a, b, **options)
                found = wg.linalg.solve_triangular(a, b, **options)
                np.testing.assert_allclose(found, expected, rtol=1e-12)
    spd = a @ a.T
    for lower in (False, True):
        pair = scipy.linalg.cho_factor(spd, lower=lower)
        np.testing.assert_allclose(
            wg.linalg.cho_solve(pair, b), np.linalg.solve(spd, b), rtol=1e-10
        )
    wg.check_grads(lambda c, b: wg.linalg.cho_solve((c, True), b), [a, b])
    with pytest.raises(ValueError, match="solve_triangular: trans=2 was given"):
        wg.linalg.solve_triangular(a, b, trans=2)
    with pytest.raises(wg.errors.ShapeError, match=r"cho_solve: .*it is \(factor, lower\)"):
        wg.linalg.cho_solve(3, b)


def test_a_loss_that_scipy_calls_has_numpys_own_message():
    def loss(w):
        return float(wg.grad(lambda w: wg.sum(np.array(w) ** 2))(w)[0])

    with pytest.raises(TraceError, match=r"^np\.array: "):
        scipy.optimize.minimize(loss, np.ones(2))


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_a_sparse_operand_is_refused_by_its_name(make):
    sparse = make(np.eye(3))
    words = r"(matmul|multiply|sum): given a scipy\.sparse\.\w+ of shape \(3, 3\).*toarray"
    for call in (
        lambda: wg.matmul(x, sparse),
        lambda: wg.sum(sparse),
        lambda: wg.grad(lambda x: wg.sum(x @ sparse))(x),
        lambda: wg.compile(lambda x: x @ sparse)(x),
        lambda: wg.compile(lambda x: x * sparse)(x),
    ):
        with pytest.raises(DTypeError, match=words):
            call()
    with pytest.raises(TraceError, match=r"scipy\.sparse\.__matmul__: .*toarray"):
        wg.compile(lambda x: sparse @ x)(x)


def step() -> wg.TrainStep:
    return wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(2), wg.optim.SGD(0.1))


@pytest.mark.parametrize(
    ("data", "repair"),
    [
        (np.array([None, 1.0]), "Some are missing: .* or fill them, and convert it with astype"),
        (np.array([{}, 1.0]), "Convert it with astype"),
        (np.array(["a", "b"]), r"Make codes of the texts, .* convert them with astype"),
        (np.ones(2, complex), r"Compute with its parts, x\.real and x\.imag"),
        (np.array([np.ones(2), np.ones(3)], dtype=object), r"np\.stack them"),
    ],
)
def test_data_that_are_no_numbers(data, repair):
    made = step()
    before = made.fingerprint()
    words = rf"argument 'x' has dtype .*; it must hold bools, integers or floats\. .*{repair}"
    with pytest.raises(DTypeError, match=r"TrainStep\.run: " + words):
        made.run(data, batch_size=1)
    with pytest.raises(DTypeError, match=r"TrainStep\.epochs: " + words):
        made.epochs(data, batch_size=1)
    with pytest.raises(DTypeError, match=r"TrainStep\.evaluate: " + words):
        made.evaluate(lambda w, x: wg.sum(w), data, batch_size=1)
    assert made.fingerprint() == before


def test_half_precision_is_data_as_before():
    step().run(np.ones((4, 2), np.float16), batch_size=2)


@pytest.mark.parametrize("kind", [FileNotFoundError, CheckpointError])
def test_a_file_that_does_not_exist(kind, tmp_path):
    with pytest.raises(kind, match=r"load: '.*none\.safetensors' does not exist"):
        wg.load(tmp_path / "none.safetensors")
    with pytest.raises(kind, match=r"load: '.*none\.safetensors' does not exist"):
        step().load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("transform", [wg.grad, lambda f: lambda a: wg.jvp(f, (a,), (1.0,))])
def test_an_error_that_scipy_goes_on_after_is_raised(transform):
    def root(a):
        return scipy.optimize.brentq(lambda x: x * x - a, 0.0, 2.0)

    with pytest.raises(TraceError, match="brentq: given a Tensor that is being differentiated"):
        transform(root)(1.5)


class Unit:
    """What asks NumPy to leave its operators alone, as units of measurement do."""

    __array_ufunc__ = None
    __hash__ = None

    def __rmul__(self, other):
        return "unit", other

    __radd__ = __rmatmul__ = __gt__ = __eq__ = __rmul__


@pytest.mark.parametrize("transform", [wg.grad, wg.compile])
def test_operators_of_what_leaves_numpy_alone_are_its_own(transform):
    def f(x):
        found = (x * Unit(), x + Unit(), x @ Unit(), x < Unit(), x == Unit())
        assert all(name == "unit" and other is x for name, other in found)
        with pytest.raises(TypeError, match="unsupported operand"):
            x - Unit()
        return np.sum(x)

    transform(f)(x)


class Labelled(np.lib.mixins.NDArrayOperatorsMixin):
    """An array with names of axes, which computes as xarray's: with whatever it holds."""

    def __init__(self, data, dims):
        self.data, self.dims = data, dims

    dims = ()

    def __array_ufunc__(self, ufunc, method, *inputs):
        dims = next(x.dims for x in inputs if isinstance(x, Labelled))
        held = [x.data if isinstance(x, Labelled) else x for x in inputs]
        return Labelled(getattr(ufunc, method)(*held), dims)


NAMED = {
    "before it": lambda x, a: (x * Labelled(a, "i")).data,
    "behind it": lambda x, a: (Labelled(a, "i") * x).data,
    "as a ufunc": lambda x, a: np.multiply(x, Labelled(a, "i")).data,
    "holding one": lambda x, a: (x * (Labelled(a, "i") * x)).data / x,
    "two of them": lambda x, a: (Labelled(a, "i") * x + Labelled(np.zeros(3), "i")).data,
    "an operand": lambda x, a: wg.sum(x * Labelled(a, "i"), keepdims=True) * [1.0, 0.0, 0.0],
}


@pytest.mark.parametrize("way", NAMED)
def test_an_array_with_named_axes_holds_a_tensor(way):
    a = np.array([1.0, 2.0, 3.0])
    function = NAMED[way]
    assert wg.grad(lambda x: wg.sum(function(x, a)))(2.0) == 6.0
    assert wg.sum(wg.compile(function)(np.array(2.0), a)) == 12.0
    wg.check_grads(lambda x: function(x, a), [2.0])


def test_a_series_is_read_by_place():
    pd = pytest.importorskip("pandas")
    one, other = pd.Series([1.0, 2.0, 3.0]), pd.Series([1.0, 1.0, 1.0], index=[7, 8, 9])
    frame = pd.DataFrame({"a": one, "b": one})

    def both(x):
        return x * one + other

    def table(x):
        return x * frame

    for function, expected in ((both, [3.0, 5.0, 7.0]), (table, 2.0 * frame.to_numpy())):
        value, pull = wg.vjp(function, 2.0)
        assert type(value) is np.ndarray
        np.testing.assert_array_equal(value, expected)
        assert pull(np.ones(value.shape)) == (float(np.sum(frame.to_numpy())) / (3 - value.ndim),)
