"""How large the errors of compiled functions may be, and points where they are largest.

The points come from `python -m tests.codegen.hardest`, those of erf and the gamma functions from a
search of the same kind against mpmath. Another search finds others, hardly worse.
"""

from __future__ import annotations

# In units of the last place, float32 and float64; docs/numerics.md has the same numbers.
BOUNDS: dict[str, tuple[float, float]] = {
    "exp": (1, 1.1),
    "exp2": (0.9, 1),
    "expm1": (1, 1.2),
    "log": (1, 1.2),
    "log1p": (1, 1.2),
    "log2": (0.9, 1),
    "log10": (0.9, 1),
    "power": (0.51, 1.5),
    "cbrt": (0.501, 0.501),
    "sin": (0.8, 0.9),
    "cos": (0.8, 0.9),
    "tan": (0.51, 1.1),
    "asin": (0.51, 0.75),
    "acos": (0.51, 0.75),
    "atan": (0.51, 0.75),
    "atan2": (0.51, 0.75),
    "sinh": (0.501, 2),
    "cosh": (0.501, 1.3),
    "tanh": (1, 1.7),
    "asinh": (0.501, 1.4),
    "acosh": (0.501, 1.3),
    "atanh": (0.501, 1.4),
    "sigmoid": (0.9, 1),
    "erf": (1, 1.1),
    "erfc": (3.2, 4),
    "lgamma": (0.51, 6),
    "digamma": (0.51, 6),
}

POINTS: dict[str, dict[str, str]] = {
    "f8": {
        "acos": """
            0x1.179ee15cf9a1fp-1 0x1.1dffbb75a91eap-1 0x1.1cf6338cd12ecp-1 0x1.1e253388d90ffp-1
            0x1.1b7c13a190a87p-1 0x1.1597cb60d086ap-1
        """,
        "acosh": """
            0x1.142fd1e4af2aep+0 0x1.15223fdfa04ffp+0 0x1.155479fa244eep+0 0x1.01fe867ab85bcp+0
            0x1.07ed33315d525p+0
        """,
        "asin": """
            -0x1.09bf3057e3f4dp-1 -0x1.0e16f438c0713p-1 0x1.0b29e876bb0f7p-1 0x1.006992f232a7bp-1
            0x1.081f1bfffffffp-1 -0x1.0c8386a35a626p-1
        """,
        "asinh": """
            -0x1.8f0c2d4a19206p-2 0x1.91375207c0021p-2 -0x1.a701997922598p-2 -0x1.a734b937e8069p-2
            0x1.9f45a6bc6d31cp-2 0x1.7cd97a7eeab7bp-2
        """,
        "atan": """
            -0x1.b7b1092d6fc0fp-2 -0x1.b6866e021905bp-2 -0x1.b72a61de5068bp-2
            -0x1.b9fa8c792a98bp-2 0x1.b8106e091cb4fp-2 0x1.b7419589db6c3p-2
        """,
        "atanh": """
            -0x1.968160ba0c8a2p-3 -0x1.98418bb52afaap-3 0x1.8df1d039cbef6p-3 -0x1.8d2188f406046p-3
            0x1.976127f7e6ac2p-3 0x1.9681feda1342ap-3
        """,
        "cbrt": """
            0x1.83fffffffffffp+1022 0x1.82dcf30a4bc79p+1022 0x1.83fffffffffffp+1019
        """,
        "cos": """
            0x1.45b2d529591edp+93 0x1.0c5e1d98c6dep+515 0x1.2ee0bc5c532fdp+37
            0x1.5a398a437f6c3p+905 -0x1.dedb89a730367p+515 -0x1.b7c27c22b8f62p+303
        """,
        "cosh": """
            0x1.bf436ae555d39p+0 -0x1.bd159f030a992p+0 -0x1.bdb9a8e0cfe59p+0 -0x1.c0bf4a870494bp+0
            0x1.c12d11240c3d5p+0 0x1.c46443fffffffp+0
        """,
        "digamma": """
            0x1.8379ff93f8fbfp+2 0x1.c9c1db61ebe24p+2 0x1.cb1159de3e5cdp+2 0x1.cb73d57f9695fp+2
        """,
        "erf": """
            -0x1.fbfd8f3fae9e2p-1 0x1.dad35da3ae719p-1 -0x1.efd2d4be05cfbp-1 -0x1.fc06bc20f26d2p-1
        """,
        "erfc": """
            0x1.e23bea655560bp+1 0x1.d50b733a52ad7p+1 0x1.d5f24a57f446bp+1 0x1.c895c021b731fp+1
        """,
        "exp": """
            -0x1.1ff4ca1844dc3p+2 0x1.eb46d1f44541fp+1 -0x1.1df05891eca38p+2 0x1.ea5ac80de367ap+1
            -0x1.2048637c9b40cp+2 0x1.9215f462113d7p+5 0x1.922be8da8db0dp+5 0x1.e9e21a5dbbe56p+1
            0x1.e96ac08b111f6p+1
        """,
        "exp2": """
            -0x1.ff3e247c1030ap+9 -0x1.ff3de602b0b9cp+9 -0x1.ff3d6bb91f89ap+9
            -0x1.ff3de1019e9d6p+9 -0x1.ff3e11fdf6d8p+9 -0x1.ff3cf604028e6p+9
        """,
        "expm1": """
            0x1.66a46557d3358p-2 0x1.671ccb139802p-2 0x1.64ec97272df5p-2 0x1.6c8184befea09p-2
            0x1.68e9aab0af81bp-2 0x1.707a403963884p-2
        """,
        "lgamma": """
            0x1.08b747ee80c51p+1 0x1.0472fa8e747ecp+1 0x1.021ac12458e8ap+1 0x1.08f64cc836562p+1
        """,
        "log": """
            0x1.7e9fde35ba1cap-1 0x1.7f2c07ff6ae06p-1 0x1.7e930eabce966p-1 0x1.7f0821d9a844dp-1
            0x1.7f295e40c867ep-1 0x1.7ee6fe800d856p-1
        """,
        "log10": """
            0x1.7ffd4fe2dd09bp-1 0x1.7ff7b43234964p-1 0x1.7ffc03c27f206p-1 0x1.7ffed90eb00ep-1
            0x1.7ff73b86c9d23p-1 0x1.7fff682297396p-1
        """,
        "log1p": """
            -0x1.02e2aacec1b8ap-2 -0x1.02e149f7b4ba1p-2 -0x1.0302d2456506p-2 -0x1.01f05fc4c43acp-2
            -0x1.01ce52de662cdp-2 -0x1.01acdd5c2fcdep-2
        """,
        "log2": """
            0x1.7ef9a86b8e303p-1 0x1.7eaf4418f7169p-1 0x1.7ed830773d79p-1 0x1.771c8e1fac91bp-1
            0x1.75b52a7b53c98p-1 0x1.75d2511c98f75p-1
        """,
        "sigmoid": """
            -0x1.62608cdf3b40bp+9 -0x1.625fe303119bep+9 -0x1.6261366c2ad3ep+9
            -0x1.6261581b80e2ep+9 -0x1.626056c0b5e05p+9 -0x1.626194bd3e85cp+9
        """,
        "sin": """
            -0x1.73cp+870 -0x1.487bba9ca9aecp+808 0x1.afb4425ca4495p+161 0x1.3aaeb1554594cp+751
            0x1.aa0f0fa0f838dp+949 0x1.19e805cc1d85ep+462
        """,
        "sinh": """
            -0x1.a040452b945f7p-2 -0x1.9f599e71f260dp-2 0x1.a74ea81ea9ec9p-2 0x1.a0e5d7852f304p-2
            -0x1.a0128fcfb893bp-2 0x1.a5db84f390003p-2
        """,
        "tan": """
            0x1.ab2205eaa9e92p+3 0x1.ab2b731b26a1p+3 0x1.ab000ffffffffp+3 -0x1.46abe7bffffffp+3
            -0x1.46aa00991d8c2p+3 0x1.ddc7bdcf5e918p+3
        """,
        "tanh": """
            -0x1.a6ea837f7ed07p-3 0x1.9fa8131d020efp-3 0x1.a0b9afaa94614p-3 0x1.a0045721e0a66p-3
            -0x1.a19a8edc2049p-3 -0x1.a242a7d6d46b5p-3
        """,
    },
    "f4": {
        "asin": """
            0x1.d12edp-12 -0x1.d12edp-12 -0x1.7ffff8p-10
        """,
        "cbrt": """
            -0x1.06a76ap+61 0x1.9c9abp+18 0x1.9586cep-7
        """,
        "cos": """
            -0x1.f58978p+1 -0x1.f15db8p+1 0x1.4647f8p+3
        """,
        "digamma": """
            0x1.03966ep+2 0x1.dd3adp-1 0x1.9126e6p+1 0x1.a7872ep+1
        """,
        "erf": """
            0x1.52db7ep-3 0x1.5312f6p-3 -0x1.52f92ep-3 0x1.60e0dcp-3
        """,
        "erfc": """
            0x1.126ad4p+3 0x1.c27baap+2 0x1.a1c7dep+2 -0x1.00a812p-3
        """,
        "exp": """
            -0x1.b5484ep+4 0x1.4e8e1ep+2 -0x1.7553fep+2
        """,
        "exp2": """
            -0x1.f9e7a8p+6 -0x1.f9ee18p+6 -0x1.f9f29ap+6
        """,
        "expm1": """
            0x1.74c9ep-2 0x1.6cb128p-2 0x1.749bcp-2
        """,
        "lgamma": """
            0x1.f6223cp+2 0x1.d93484p+4 0x1.d36df6p-1 0x1.431ff2p+4
        """,
        "log": """
            0x1.75af5ap-1 0x1.7ac7d8p-1 0x1.7a452p-1
        """,
        "log10": """
            0x1.7ff544p-1 0x1.7ff6a6p-1 0x1.72eb68p-1
        """,
        "log1p": """
            -0x1.0b1692p-2 -0x1.14a14cp-2 -0x1.09ec4ep-2
        """,
        "log2": """
            0x1.7e5784p-1 0x1.7871fap-1 0x1.7b8596p-1
        """,
        "sigmoid": """
            -0x1.f31454p+3 -0x1.5edbc2p+6 0x1.e07b08p-1 0x1.f1aee6p-1
        """,
        "sin": """
            0x1.52c048p+4 -0x1.65d45p+70 0x1.79ea7ap+117
        """,
        "tan": """
            -0x1.713744p-12 0x1.45fde8p-2 -0x1.45fde8p-2
        """,
        "tanh": """
            0x1.246edcp+2 -0x1.47152p+2 0x1.472948p+2
        """,
    },
}

# Of two operands, in float64.
PAIRS: dict[str, str] = {
    "power": """
            0x1.656b0905737a9p+0 -0x1.04ffef3152d99p+11
            0x1.67a0e7c077fbdp-1 0x1.f39cfb1f0c889p+10
            0x1.688f3e1e89b11p-1 0x1.f638238296907p+10
            0x1.6912b56223f13p+0 -0x1.ba0c36ef1ecafp+10
        """,
    "atan2": """
            0x1.8618440a2ba65p-2 0x1.c7941fb15d8afp-1
            0x1.8b50bac7e97fdp+1 0x1.cded41b893c9bp+2
            0x1.f14e46ac2b96fp+1 0x1.23448915b33dfp+3
        """,
}
