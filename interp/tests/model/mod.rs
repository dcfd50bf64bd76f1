//! A GPT composed by hand from the operations, forward and backward, as autodiff would compose it.
//!
//! Even layers are of the newer kind (rms_norm, rotary positions, grouped keys and values, SwiGLU), odd ones of the older
//! (layer_norm, a key and value head for every query head, biases, GELU). The output layer is tied to the embedding.

use std::collections::BTreeMap;

use piper_interp::{Init, Real, Tensor, ops};

pub(crate) const EPS: f64 = 1e-5;
pub(crate) const BASE: f64 = 10000.0;

/// Sizes of the model.
pub(crate) struct Gpt {
    pub(crate) vocab: usize,
    pub(crate) d: usize,
    pub(crate) heads: usize,
    /// Heads of keys and values in even layers.
    pub(crate) kv_heads: usize,
    pub(crate) ff: usize,
    pub(crate) layers: usize,
}

pub(crate) type Tensors = BTreeMap<String, Tensor>;

impl Gpt {
    /// Names, shapes and centres of all parameters.
    fn declarations(&self) -> Vec<(String, Vec<usize>, f64)> {
        let (d, ff) = (self.d, self.ff);
        let mut all =
            vec![("wte".to_string(), vec![self.vocab, d], 0.0), ("norm".to_string(), vec![d], 1.0)];
        for layer in 0..self.layers {
            let mut declare = |name: &str, shape: &[usize], mean| {
                all.push((format!("{layer}.{name}"), shape.to_vec(), mean))
            };
            let kv = self.kv_heads_of(layer) * d / self.heads;
            for norm in ["norm1", "norm2"] {
                declare(&format!("{norm}.gamma"), &[d], 1.0);
                if is_older(layer) {
                    declare(&format!("{norm}.beta"), &[d], 0.0);
                }
            }
            let mut linears = vec![
                ("q", d, d),
                ("k", d, kv),
                ("v", d, kv),
                ("o", d, d),
                ("up", d, ff),
                ("down", ff, d),
            ];
            if !is_older(layer) {
                linears.push(("gate", d, ff));
            }
            for (name, k, n) in linears {
                declare(&format!("{name}.w"), &[k, n], 0.0);
                if is_older(layer) {
                    declare(&format!("{name}.bias"), &[n], 0.0);
                }
            }
        }
        all
    }

    fn kv_heads_of(&self, layer: usize) -> usize {
        if is_older(layer) { self.heads } else { self.kv_heads }
    }

    /// Parameters around their centres with standard deviation `std`.
    pub(crate) fn parameters<T: Real>(&self, std: f64) -> Tensors {
        self.declarations()
            .into_iter()
            .map(|(name, shape, mean)| {
                let value = ops::parameter::<T>(&name, &shape, Init::Normal { mean, std }).unwrap();
                (name, value)
            })
            .collect()
    }

    /// The mean loss, and its gradient by every parameter.
    pub(crate) fn step<T: Real>(
        &self,
        p: &Tensors,
        tokens: &Tensor,
        targets: &Tensor,
    ) -> (Tensor, Tensors) {
        let count = tokens.len() as i64;
        let factor = (self.d as f64).sqrt();
        let mut h = vec![
            ops::scale::<T>(&ops::embedding::<T>(tokens, &p["wte"]).unwrap(), factor).unwrap(),
        ];
        let mut saved = Vec::new();
        for layer in 0..self.layers {
            let (out, residuals) = self.layer::<T>(p, layer, &h[layer]);
            h.push(out);
            saved.push(residuals);
        }
        let last = &h[self.layers];
        let normed = ops::rms_norm::<T>(last, &p["norm"], EPS).unwrap();
        let logits = ops::linear::<T>(&normed, &p["wte"], None, true).unwrap();
        let (loss, lse) = ops::cross_entropy::<T>(&logits, targets, count).unwrap();

        let mut g = Tensors::new();
        let dlogits = ops::cross_entropy_dx::<T>(
            &logits,
            targets,
            &Tensor::scalar(T::ONE),
            Some(&lse),
            count,
        )
        .unwrap();
        let dnormed = ops::linear_dx::<T>(&dlogits, &p["wte"], true).unwrap();
        let dwte_out = ops::linear_dw::<T>(&normed, &dlogits, true).unwrap();
        g.insert("norm".into(), ops::rms_norm_dw::<T>(last, &dnormed, EPS).unwrap());
        let mut dh = ops::rms_norm_dx::<T>(last, &p["norm"], &dnormed, EPS).unwrap();
        for layer in (0..self.layers).rev() {
            dh = self.layer_backward::<T>(p, &mut g, layer, &h[layer], &saved[layer], &dh);
        }
        let de = ops::scale::<T>(&dh, factor).unwrap();
        let dwte_in = ops::embedding_dw::<T>(tokens, &de, self.vocab).unwrap();
        g.insert("wte".into(), ops::add::<T>(&dwte_in, &dwte_out).unwrap());
        (loss, g)
    }

    fn layer<T: Real>(&self, p: &Tensors, layer: usize, x: &Tensor) -> (Tensor, Residuals) {
        let lin = |name: &str, x: &Tensor| {
            let (w, bias) =
                (&p[&format!("{layer}.{name}.w")], p.get(&format!("{layer}.{name}.bias")));
            ops::linear::<T>(x, w, bias, false).unwrap()
        };
        let kv = self.kv_heads_of(layer);
        let turn = |x: Tensor, heads| {
            if is_older(layer) { x } else { ops::rotary::<T>(&x, heads, BASE, false).unwrap() }
        };
        let n1 = norm::<T>(p, layer, "norm1", x);
        let (q, k, v) = (turn(lin("q", &n1), self.heads), turn(lin("k", &n1), kv), lin("v", &n1));
        let (o, lse) = ops::attention::<T>(&q, &k, &v, self.heads, kv).unwrap();
        let mid = ops::add::<T>(x, &lin("o", &o)).unwrap();
        let n2 = norm::<T>(p, layer, "norm2", &mid);
        let up = lin("up", &n2);
        let (gate, gate_silu, act) = if is_older(layer) {
            (None, None, ops::gelu::<T>(&up).unwrap())
        } else {
            let gate = lin("gate", &n2);
            let gate_silu = ops::silu::<T>(&gate).unwrap();
            let act = ops::mul::<T>(&gate_silu, &up).unwrap();
            (Some(gate), Some(gate_silu), act)
        };
        let out = ops::add::<T>(&mid, &lin("down", &act)).unwrap();
        (out, Residuals { n1, q, k, v, o, lse, mid, n2, up, gate, gate_silu, act })
    }

    fn layer_backward<T: Real>(
        &self,
        p: &Tensors,
        g: &mut Tensors,
        layer: usize,
        x: &Tensor,
        r: &Residuals,
        dout: &Tensor,
    ) -> Tensor {
        let mut lin_back = |name: &str, x: &Tensor, dy: &Tensor| {
            let w = format!("{layer}.{name}.w");
            let dx = ops::linear_dx::<T>(dy, &p[&w], false).unwrap();
            g.insert(w, ops::linear_dw::<T>(x, dy, false).unwrap());
            let bias = format!("{layer}.{name}.bias");
            if p.contains_key(&bias) {
                g.insert(bias, ops::sum_rows::<T>(dy).unwrap());
            }
            dx
        };
        let add = |a: &Tensor, b: &Tensor| ops::add::<T>(a, b).unwrap();
        let dact = lin_back("down", &r.act, dout);
        let dn2 = match (&r.gate, &r.gate_silu) {
            (Some(gate), Some(gate_silu)) => {
                let dup = ops::mul::<T>(&dact, gate_silu).unwrap();
                let dgate = ops::silu_dx::<T>(gate, &ops::mul::<T>(&dact, &r.up).unwrap()).unwrap();
                add(&lin_back("up", &r.n2, &dup), &lin_back("gate", &r.n2, &dgate))
            }
            _ => lin_back("up", &r.n2, &ops::gelu_dx::<T>(&r.up, &dact).unwrap()),
        };
        let dmid_norm = norm_backward::<T>(p, layer, "norm2", &r.mid, &dn2);
        let dmid = add(dout, &dmid_norm.0);
        let d_o = lin_back("o", &r.o, &dmid);
        let kv = self.kv_heads_of(layer);
        let (dq, dk, dv) =
            ops::attention_dx::<T>(&r.q, &r.k, &r.v, &r.o, &r.lse, &d_o, self.heads, kv).unwrap();
        let turn_back = |d: Tensor, heads| {
            if is_older(layer) { d } else { ops::rotary::<T>(&d, heads, BASE, true).unwrap() }
        };
        let dq = lin_back("q", &r.n1, &turn_back(dq, self.heads));
        let dk = lin_back("k", &r.n1, &turn_back(dk, kv));
        let dv = lin_back("v", &r.n1, &dv);
        let dx_norm = norm_backward::<T>(p, layer, "norm1", x, &add(&add(&dq, &dk), &dv));
        g.extend(dmid_norm.1);
        g.extend(dx_norm.1);
        add(&dmid, &dx_norm.0)
    }
}

/// What backward needs of a layer's forward.
struct Residuals {
    n1: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    mid: Tensor,
    n2: Tensor,
    up: Tensor,
    gate: Option<Tensor>,
    gate_silu: Option<Tensor>,
    act: Tensor,
}

fn is_older(layer: usize) -> bool {
    layer % 2 == 1
}

fn norm<T: Real>(p: &Tensors, layer: usize, name: &str, x: &Tensor) -> Tensor {
    let gamma = &p[&format!("{layer}.{name}.gamma")];
    match p.get(&format!("{layer}.{name}.beta")) {
        Some(beta) => ops::layer_norm::<T>(x, gamma, beta, EPS).unwrap(),
        None => ops::rms_norm::<T>(x, gamma, EPS).unwrap(),
    }
}

/// The input gradient, and the gradients by name.
fn norm_backward<T: Real>(
    p: &Tensors,
    layer: usize,
    name: &str,
    x: &Tensor,
    dy: &Tensor,
) -> (Tensor, Tensors) {
    let (gamma, beta) = (format!("{layer}.{name}.gamma"), format!("{layer}.{name}.beta"));
    if p.contains_key(&beta) {
        let (dgamma, dbeta) = ops::layer_norm_dw::<T>(x, dy, EPS).unwrap();
        let dx = ops::layer_norm_dx::<T>(x, &p[&gamma], dy, EPS).unwrap();
        (dx, Tensors::from([(gamma, dgamma), (beta, dbeta)]))
    } else {
        let dgamma = ops::rms_norm_dw::<T>(x, dy, EPS).unwrap();
        let dx = ops::rms_norm_dx::<T>(x, &p[&gamma], dy, EPS).unwrap();
        (dx, Tensors::from([(gamma, dgamma)]))
    }
}
