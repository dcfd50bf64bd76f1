//! `--gemm cublaslt`: products by the stand-in of cuBLASLt.

use super::*;

/// What a run by cuBLASLt says of products: how many went there, of how many; with a line for each piece of work.
fn products(folder: &Folder, model: &Path, devices: usize, more: &[&str]) -> (u64, u64, String) {
    let mut command = on_standins(devices);
    command.env("PIPER_STANDIN_LOG", "2");
    arguments(&mut command, folder, model).args(["--gemm", "cublaslt"]).args(more);
    let output = command.output().expect("the program starts");
    let (out, err) = text(&output);
    assert!(output.status.success(), "{out}{err}");
    let line = err.lines().find(|line| line.starts_with("remark: cuBLASLt ")).expect("a remark");
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1], format!("{line}\n{out}\n{err}"))
}

/// A product with a bias whose sums nothing follows, and one for each of four experts.
const BIAS_AND_EXPERTS: &str = r#"
strategy.mesh @cluster <["pp" = 1]>
func.func @loss(%tokens: tensor<8x8xi32> {role = "data", batch_dim = 0}, %targets: tensor<8x8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %l = strategy.annotate {PP = 0} {
    %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<128x6xf32>
    %w = nn.parameter "experts" init = normal<0.0, 0.3> : tensor<4x6x6xf32>
    %head = nn.parameter "head" init = normal<0.0, 0.3> : tensor<6x128xf32>
    %bias = nn.parameter "bias" init = normal<0.0, 0.3> : tensor<128xf32>
    %e = nn.embedding %tokens, %wte : (tensor<8x8xi32>, tensor<128x6xf32>) -> tensor<8x8x6xf32>
    %s = nn.dispatch %e {experts = 4} : (tensor<8x8x6xf32>) -> tensor<4x8x2x6xf32>
    %d = nn.expert_linear %s, %w : (tensor<4x8x2x6xf32>, tensor<4x6x6xf32>) -> tensor<4x8x2x6xf32>
    %c = nn.combine %d : (tensor<4x8x2x6xf32>) -> tensor<8x8x6xf32>
    %z = nn.linear %c, %head, %bias : (tensor<8x8x6xf32>, tensor<6x128xf32>, tensor<128xf32>) -> tensor<8x8x128xf32>
    %x = nn.cross_entropy %z, %targets {denominator = 64} : (tensor<8x8x128xf32>, tensor<8x8xi32>) -> tensor<f32>
    strategy.yield %x : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}
strategy.plan @train for @loss on @cluster {
  strategy.optimizer adamw <lr = 0.01>
}
"#;

#[test]
fn products_with_a_bias_and_of_experts_go_to_cublaslt() {
    let folder = Folder::new();
    let model = folder.0.path().join("train.pir");
    std::fs::write(&model, BIAS_AND_EXPERTS).expect("written");
    trains(1, &folder, &model, &["--gemm", "cublaslt"], None);
    let (taken, of, said) = products(&folder, &model, 1, &[]);
    // One of the head and one of the experts, forward and by both operands backward.
    assert_eq!((taken, of), (6, 6), "{said}");
    // Three steps, of which each has one product with a bias and three of four experts.
    let count = |what: &str| {
        let lines = said.lines().filter(|line| line.contains("cublaslt "));
        lines.filter(|line| line.contains(what)).count()
    };
    assert_eq!((count(", bias"), count(", batch 4"), count("")), (3, 9, 18), "{said}");
}

#[test]
fn products_by_cublaslt_are_the_same_products() {
    let folder = Folder::new();
    let model = folder.one_device();
    trains(1, &folder, &model, &["--gemm", "cublaslt"], None);
    trains(1, &folder, &model, &["--gemm", "cublaslt", "--graphs"], Some(1));
    let (taken, of, said) = products(&folder, &model, 1, &[]);
    assert!(
        said.contains("cuBLASLt 12.8.4 computes") && said.contains("launches in all"),
        "{said}"
    );
    assert!(0 < taken && taken <= of, "{said}");
    // Its workspace is counted, beside that of the plan's kernels.
    let workspace = |said: &str| -> u64 {
        let row = said.lines().find(|line| line.starts_with('{')).expect("a row");
        row.split_whitespace().last().and_then(|n| n.parse().ok()).expect("bytes")
    };
    let own = arguments(&mut on_standins(1), &folder, &model).output().unwrap();
    assert!(workspace(&said) > workspace(&text(&own).0), "{said}");
}

#[test]
fn products_by_cublaslt_train_a_pipeline_and_in_mixed_precision() {
    let folder = Folder::new();
    trains(2, &folder, &folder.pipeline(), &["--gemm", "cublaslt"], Some(2));
    let directives = "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 1\nstrategy.precision compute = bf16 master = f32 reduce = f32";
    let model = folder.model(1, r#""dp" = 2"#, directives);
    trains(2, &folder, &model, &["--gemm", "cublaslt"], None);
}

#[test]
fn products_in_a_partition_of_grids_are_asked_to_keep_to_it() {
    let folder = Folder::new();
    let model = folder.model(2, r#""pp" = 2"#, PIPELINE_IN_GRIDS);
    // What cuBLASLt computes there is asked to keep to it, and a remark says that asking is all that can be done.
    let (taken, _, said) = products(&folder, &model, 2, &[]);
    assert!(
        said.contains("its kernels to 2 blocks; cuBLASLt is asked to fill 2 multiprocessors, but chooses its own grids"),
        "{said}"
    );
    let work: Vec<&str> = said.lines().filter(|line| line.contains(" cublaslt ")).collect();
    assert_eq!(work.len() as u64, 3 * taken, "{said}");
    assert!(work.iter().all(|line| line.contains(", multiprocessors 2")), "{said}");
}

#[test]
fn what_cublaslt_computes_is_told_of_the_devices_of_the_process_that_tells() {
    let folder = Folder::new();
    let flags = ["--gemm", "cublaslt"];
    let (first, second) = two_outputs(&folder, &folder.pipeline(), &[&flags, &flags]);
    let ((_, first), (_, second)) = (text(&first), text(&second));
    assert!(first.contains("of a step on the devices of this process ("), "{first}");
    assert!(!second.contains("cuBLASLt"), "{second}");
}
