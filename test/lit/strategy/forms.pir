// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt %s --mlir-print-op-generic | piper-opt | FileCheck %s

// Every form prints as it reads, also by way of the generic form.

// CHECK:      strategy.mesh @cluster <["pp" = 4, "dp" = 2]>
// CHECK-NEXT: strategy.group @own0 on @cluster [{pp = 0}, {pp = 3}]
strategy.mesh @cluster <["pp" = 4, "dp" = 2]>
strategy.group @own0 on @cluster [{pp = 0}, {pp = 3}]
// CHECK:      %{{.*}} = strategy.annotate {PP = 0} {
// CHECK-NEXT:   strategy.yield %x : i32
// CHECK-NEXT: } : i32
func.func @loss(%x: i32) -> i32 {
  %0 = strategy.annotate {PP = 0} {
    strategy.yield %x : i32
  } : i32
  func.return %0 : i32
}
// CHECK: strategy.plan @train for @loss on @cluster {
strategy.plan @train for @loss on @cluster {
  // CHECK-NEXT: strategy.pipeline over "pp" stages = "PP" schedule = "interleaved1f1b" microbatches = 8 group = 4 overlap
  strategy.pipeline over "pp" stages = "PP" schedule = "interleaved1f1b" microbatches = 8 group = 4 overlap
  // CHECK-NEXT: strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "v"
  strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "v"
  // CHECK-NEXT: strategy.zero over "dp" stage = 1 bucket = "25MiB"
  strategy.zero over "dp" stage = 1 bucket = "25MiB"
  // CHECK-NEXT: strategy.replicate over "dp"{{$}}
  strategy.replicate over "dp"
  // CHECK-NEXT: strategy.place {EP = -, PASS = F, PP = 0|2} on [{pp = 0}, {pp = 3}] microbatches = [0:4, 4:8]
  strategy.place {PP = 0|2, EP = -, PASS = F} on [{pp = 0}, {pp = 3}] microbatches = [0:4, 4:8]
  // CHECK-NEXT: strategy.split "MB" into 8
  strategy.split "MB" into 8
  // CHECK-NEXT: strategy.split_backward {PP = *}
  strategy.split_backward {PP = *}
  // CHECK-NEXT: strategy.order stages = "PP" on {pp = 0} "0F0 (0F1 | 0B0) 0I1 0W1"
  strategy.order stages = "PP" on {pp = 0} "0F0 (0F1 | 0B0) 0I1 0W1"
  // CHECK-NEXT: strategy.optimizer adamw <lr = warmup_cosine<peak = 3.000000e-04, floor = 3.000000e-05, warmup = 20, total = 300>, betas = [9.000000e-01, 0.94999999999999996], weight_decay = 1.000000e-01, clip = 1.000000e+00>
  strategy.optimizer adamw <lr = warmup_cosine<peak = 3.0e-4, floor = 3.0e-5, warmup = 20, total = 300>, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
