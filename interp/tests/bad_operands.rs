//! Operands that do not fit are errors that name the operation, the operand and the dimension.

use piper_interp::{NumericError, Tensor, ops};

fn message<T: std::fmt::Debug>(result: Result<T, NumericError>) -> String {
    result.unwrap_err().to_string()
}

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::filled(shape, 0f32)
}

#[test]
fn messages_name_the_dimension() {
    let tokens = Tensor::new([1, 3], vec![0, 5, -1]).unwrap();
    assert_eq!(
        message(ops::embedding::<f32>(&tokens, &zeros(&[5, 2]))),
        "nn.embedding: tokens[1] = 5 is outside 0..5, the size of dimension V"
    );
    assert_eq!(
        message(ops::embedding_dw::<f32>(&tokens, &zeros(&[1, 3, 2]), 6)),
        "nn.embedding_dw: tokens[2] = -1 is outside 0..6, the size of dimension V"
    );
    assert_eq!(
        message(ops::linear::<f32>(&zeros(&[2, 4]), &zeros(&[4, 3]), None, true)),
        "nn.linear: dimension K of w is 3, but x makes it 4"
    );
    assert_eq!(
        message(ops::add::<f32>(&zeros(&[2, 4]), &zeros(&[2, 5]))),
        "nn.add: dimension 1 of b is 5, but a makes it 4"
    );
    assert_eq!(
        message(ops::gelu::<f32>(&Tensor::scalar(1f64))),
        "nn.gelu: x holds f64, expected f32"
    );
    assert_eq!(
        message(ops::layer_norm::<f32>(&zeros(&[2, 4]), &zeros(&[4]), &zeros(&[3]), 1e-5)),
        "nn.layer_norm: dimension D of beta is 3, but x makes it 4"
    );
}

#[test]
fn attributes_are_checked_against_shapes() {
    let x = zeros(&[1, 2, 12]);
    assert_eq!(
        message(ops::attention::<f32>(&x, &x, &x, 5, 5)),
        "nn.attention: heads = 5 does not divide dimension H*hd = 12"
    );
    assert_eq!(
        message(ops::attention::<f32>(&x, &x, &x, 4, 3)),
        "nn.attention: kv_heads = 3 does not divide heads = 4"
    );
    assert_eq!(
        message(ops::attention::<f32>(&x, &x, &x, 4, 2)),
        "nn.attention: dimension KV*hd of k is 12, but kv_heads = 2 heads of size 3 make it 6"
    );
    assert_eq!(
        message(ops::rotary::<f32>(&x, 4, 10000.0, false)),
        "nn.rotary: the head size 3 of heads = 4 is odd"
    );
    assert_eq!(
        message(ops::rotary::<f32>(&x, 0, 10000.0, false)),
        "nn.rotary: heads = 0 does not divide dimension H*hd = 12"
    );
    let targets = Tensor::new([2], vec![0, 3]).unwrap();
    assert_eq!(
        message(ops::cross_entropy::<f32>(&zeros(&[2, 4]), &targets, 0)),
        "nn.cross_entropy: denominator = 0 is not positive"
    );
    assert_eq!(
        message(ops::cross_entropy::<f32>(&zeros(&[2, 3]), &targets, 2)),
        "nn.cross_entropy: targets[1] = 3 is outside 0..3, the size of dimension V"
    );
}
