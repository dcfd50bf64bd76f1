//! The dimensions of published models.
//!
//! From the reports, torchtitan's and ModelZoo's configurations: Llama 3 (arXiv 2407.21783), DeepSeek-V3 (2412.19437), Mixtral
//! (2401.04088), GPT-3 (2005.14165), Qwen3 (2505.09388). Multi-token prediction of DeepSeek-V3 is left out.

/// The attention of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Heads of size `head` for queries, fewer for keys and values.
    Grouped {
        /// Query heads.
        heads: u64,
        /// Key and value heads.
        kv_heads: u64,
        /// Size of a head.
        head: u64,
    },
    /// Multi-head latent attention of DeepSeek: queries and keys come from compressed vectors.
    Latent {
        /// Heads.
        heads: u64,
        /// Width of the compressed queries.
        q_rank: u64,
        /// Width of the compressed keys and values.
        kv_rank: u64,
        /// Size of a head's part without positions.
        nope: u64,
        /// Size of a head's part with positions.
        rope: u64,
        /// Size of a head of values.
        value: u64,
    },
}

/// Experts of a mixture layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// How many there are.
    pub count: u64,
    /// How many a token goes to.
    pub top_k: u64,
    /// Width of one.
    pub width: u64,
    /// How many every token goes to besides.
    pub shared: u64,
}

/// A decoder of a published model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// As on the command line.
    pub name: &'static str,
    /// Layers.
    pub layers: u64,
    /// Of these, how many at the start have no experts.
    pub dense_layers: u64,
    /// Width of the residual stream.
    pub width: u64,
    /// The attention.
    pub attention: Attention,
    /// Width of the dense feed-forward layers.
    pub ffn: u64,
    /// Whether feed-forward layers are gated: three matrices instead of two.
    pub gated: bool,
    /// The experts, if it has any.
    pub experts: Option<Experts>,
    /// Tokens of the vocabulary.
    pub vocab: u64,
    /// Tokens of a sequence in training.
    pub sequence: u64,
    /// Whether the output layer is the embedding transposed.
    pub tied: bool,
}

impl Model {
    /// The same with so many layers (at most one of them without experts is kept if there are few).
    pub fn with_layers(&self, layers: u64) -> Self {
        let dense_layers = match self.experts {
            Some(_) => self.dense_layers.min(layers.saturating_sub(1)),
            None => layers,
        };
        Self { layers, dense_layers, ..self.clone() }
    }
}

const fn grouped(heads: u64, kv_heads: u64, head: u64) -> Attention {
    Attention::Grouped { heads, kv_heads, head }
}

const fn llama(name: &'static str, layers: u64, width: u64, heads: u64, ffn: u64) -> Model {
    Model {
        name,
        layers,
        dense_layers: layers,
        width,
        attention: grouped(heads, 8, width / heads),
        ffn,
        gated: true,
        experts: None,
        vocab: 128_256,
        sequence: 8192,
        tied: false,
    }
}

const fn qwen3(name: &'static str, layers: u64, width: u64, heads: u64, experts: u64) -> Model {
    Model {
        name,
        layers,
        dense_layers: 0,
        width,
        attention: grouped(heads, 4, 128),
        ffn: 0,
        gated: true,
        experts: Some(Experts { count: 128, top_k: 8, width: experts, shared: 0 }),
        vocab: 151_936,
        sequence: 4096,
        tied: false,
    }
}

/// The models, by name.
pub const MODELS: &[Model] = &[
    llama("llama3-8b", 32, 4096, 32, 14_336),
    llama("llama3-70b", 80, 8192, 64, 28_672),
    llama("llama3-405b", 126, 16_384, 128, 53_248),
    Model {
        name: "deepseek-v3",
        layers: 61,
        dense_layers: 3,
        width: 7168,
        attention: Attention::Latent {
            heads: 128,
            q_rank: 1536,
            kv_rank: 512,
            nope: 128,
            rope: 64,
            value: 128,
        },
        ffn: 18_432,
        gated: true,
        experts: Some(Experts { count: 256, top_k: 8, width: 2048, shared: 1 }),
        vocab: 129_280,
        sequence: 4096,
        tied: false,
    },
    Model {
        name: "mixtral-8x7b",
        layers: 32,
        dense_layers: 0,
        width: 4096,
        attention: grouped(32, 8, 128),
        ffn: 0,
        gated: true,
        experts: Some(Experts { count: 8, top_k: 2, width: 14_336, shared: 0 }),
        vocab: 32_000,
        sequence: 4096,
        tied: false,
    },
    Model {
        name: "gpt3-175b",
        layers: 96,
        dense_layers: 96,
        width: 12_288,
        attention: grouped(96, 96, 128),
        ffn: 49_152,
        gated: false,
        experts: None,
        vocab: 51_200,
        sequence: 2048,
        tied: true,
    },
    qwen3("qwen3-30b-a3b", 48, 2048, 32, 768),
    qwen3("qwen3-235b-a22b", 94, 4096, 64, 1536),
];

/// The model of a name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.name == name)
}
