//! What the parts of a layer cost and how many parameters they have.

use crate::model::{Attention, Model};

/// Operations of one token, forward and in the two halves of the gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Forward.
    pub forward: f64,
    /// Gradient of the input.
    pub input: f64,
    /// Gradient of the weights.
    pub weight: f64,
}

impl Cost {
    /// Products with so many weights: a multiply-add each, forward and twice backward.
    fn products(weights: f64) -> Self {
        Self { forward: 2.0 * weights, input: 2.0 * weights, weight: 2.0 * weights }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            forward: self.forward + other.forward,
            input: self.input + other.input,
            weight: self.weight + other.weight,
        }
    }

    /// The cost of so many tokens.
    pub fn times(self, tokens: f64) -> Self {
        Self {
            forward: self.forward * tokens,
            input: self.input * tokens,
            weight: self.weight * tokens,
        }
    }

    /// All of it.
    pub fn total(self) -> f64 {
        self.forward + self.input + self.weight
    }
}

/// A part of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Its parameters.
    pub parameters: u64,
    /// Of one token.
    pub cost: Cost,
    /// Values of a token that are kept for the gradient beside what enters; of sorted tokens, of one of them.
    pub kept: u64,
}

impl Model {
    /// Norm, projections, causal attention over the sequence, output projection.
    pub fn attention(&self) -> Piece {
        let d = self.width;
        // Latent attention keeps the compressed vectors and projects them up again, as in its report.
        let (weights, a_score, again, kept) = match self.attention {
            Attention::Grouped { heads, kv_heads, head } => (
                2 * d * heads * head + 2 * d * kv_heads * head,
                heads * 2 * head,
                0,
                2 * (heads + kv_heads) * head,
            ),
            Attention::Latent { heads, q_rank, kv_rank, nope, rope, value } => {
                let down = d * q_rank + d * (kv_rank + rope);
                let up = q_rank * heads * (nope + rope) + kv_rank * heads * (nope + value);
                let kept = q_rank + kv_rank + rope + heads * value;
                (down + up + heads * value * d, heads * (nope + rope + value), up, kept)
            }
        };
        // Queries with keys, scores with values; a token sees half the sequence on average.
        let scores = a_score as f64 * (self.sequence + 1) as f64;
        let again = 2.0 * again as f64;
        let core = Cost { forward: scores, input: 2.5 * scores + again, weight: 0.0 };
        Piece { parameters: weights + d, cost: Cost::products(weights as f64).plus(core), kept }
    }

    fn feed_forward(&self, width: u64) -> u64 {
        let matrices = if self.gated { 3 } else { 2 };
        matrices * self.width * width
    }

    /// What a feed-forward layer of a width keeps: the operands of its activation.
    fn kept(&self, width: u64) -> u64 {
        if self.gated { 2 * width } else { width }
    }

    /// Norm and the dense feed-forward layer.
    pub fn mlp(&self) -> Piece {
        let weights = self.feed_forward(self.ffn);
        Piece {
            parameters: weights + self.width,
            cost: Cost::products(weights as f64),
            kept: self.kept(self.ffn),
        }
    }

    /// Norm and the gate that sends tokens to experts. Copying is left out.
    pub fn route(&self) -> Piece {
        let weights = self.experts.map_or(0, |experts| experts.count * self.width);
        Piece { parameters: weights + self.width, cost: Cost::products(weights as f64), kept: 0 }
    }

    /// The routed experts: parameters of all, cost of those that a token goes to.
    pub fn experts(&self) -> Piece {
        let Some(experts) = self.experts else {
            return Piece { parameters: 0, cost: Cost::default(), kept: 0 };
        };
        let one = self.feed_forward(experts.width);
        Piece {
            parameters: experts.count * one,
            cost: Cost::products((experts.top_k * one) as f64),
            kept: self.kept(experts.width),
        }
    }

    /// The experts that every token goes to; without any, the sum of what comes back from the others.
    pub fn shared(&self) -> Piece {
        let (shared, width) = self.experts.map_or((0, 0), |e| (e.shared, e.width));
        let weights = shared * self.feed_forward(width);
        let kept = shared * self.kept(width);
        Piece { parameters: weights, cost: Cost::products(weights as f64), kept }
    }

    /// Norm, output layer and loss.
    pub fn head(&self) -> Piece {
        let weights = self.vocab * self.width;
        Piece { parameters: weights, cost: Cost::products(weights as f64), kept: 0 }
    }

    /// All parameters.
    pub fn parameters(&self) -> u64 {
        let sparse = self.layers - self.dense_layers;
        let embeddings = if self.tied { 1 } else { 2 };
        self.layers * self.attention().parameters
            + self.dense_layers * self.mlp().parameters
            + sparse
                * (self.route().parameters + self.experts().parameters + self.shared().parameters)
            + embeddings * self.head().parameters
    }

    /// What one token costs in training: forward and backward.
    pub fn cost(&self) -> Cost {
        let sparse = (self.layers - self.dense_layers) as f64;
        let mixture = self.route().cost.plus(self.experts().cost).plus(self.shared().cost);
        self.attention()
            .cost
            .times(self.layers as f64)
            .plus(self.mlp().cost.times(self.dense_layers as f64))
            .plus(mixture.times(sparse))
            .plus(self.head().cost)
    }
}

#[cfg(test)]
mod tests {
    use crate::find;

    /// All parameters, within half a percent.
    #[test]
    fn parameters_are_those_published() {
        let published = [
            ("llama3-8b", 8.03e9),
            ("llama3-70b", 70.6e9),
            ("llama3-405b", 405.9e9),
            ("deepseek-v3", 671.0e9),
            ("mixtral-8x7b", 46.7e9),
            ("gpt3-175b", 174.6e9),
            ("qwen3-30b-a3b", 30.5e9),
            ("qwen3-235b-a22b", 235.1e9),
        ];
        for (name, parameters) in published {
            let ours = find(name).expect("there").parameters() as f64;
            assert!(
                (ours / parameters - 1.0).abs() < 0.005,
                "{name}: {ours:e}, published {parameters:e}"
            );
        }
    }

    /// DeepSeek-V3 has 37e9 parameters active a token; its report counts no embedding lookup.
    #[test]
    fn a_token_costs_two_operations_an_active_parameter() {
        let mut model = find("deepseek-v3").expect("there").clone();
        // Without the attention over the sequence.
        model.sequence = 0;
        let active = model.cost().forward / 2.0;
        assert!((active / 36.6e9 - 1.0).abs() < 0.01, "{active:e}");
    }

    /// Llama 3 405B: 3.8e25 operations for 15.6e12 tokens (section 3.2 of its report).
    #[test]
    fn the_budget_of_llama_3_is_met() {
        let total = find("llama3-405b").expect("there").cost().total() * 15.6e12;
        assert!((total / 3.8e25 - 1.0).abs() < 0.12, "{total:e}");
    }
}
