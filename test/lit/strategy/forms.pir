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
  // CHECK-NEXT: strategy.order stages = "PP" on {pp = 1} "1F0,,(1F1;1B0)OVERLAP_F_B"
  strategy.order stages = "PP" on {pp = 1} "1F0,,(1F1;1B0)OVERLAP_F_B"
  // CHECK-NEXT: strategy.pipeline over "pp" stages = "PP" count = 8 schedule = "1f1b" microbatches = 8
  strategy.pipeline over "pp" stages = "PP" count = 8 schedule = "1f1b" microbatches = 8
  // CHECK-NEXT: strategy.dualpipe over "pp" stages = "PP" count = 4 microbatches = 8
  strategy.dualpipe over "pp" stages = "PP" count = 4 microbatches = 8
  // CHECK-NEXT: strategy.table over "pp" stages = "PP" rows = ["0F0 0B0", "1F0,1B0", "", "."] {note = 1}
  strategy.table over "pp" stages = "PP" rows = ["0F0 0B0", "1F0,1B0", "", "."] {note = 1}
  // CHECK-NEXT: strategy.layout stages = "PP" "Et*3|(tt|)*29,m|L"
  strategy.layout stages = "PP" "Et*3|(tt|)*29,m|L"
  // CHECK-NEXT: strategy.tag {LAYER = 0:4} as {PP = 0, kind = block} {note = 1}
  strategy.tag {LAYER = 0:4} as {PP = 0, kind = block} {note = 1}
  // CHECK-NEXT: strategy.recompute {PP = *}{{$}}
  strategy.recompute {PP = *}
  // CHECK-NEXT: strategy.recompute {MB = 0:4, PP = 0|2} only = ["nn.gelu", "nn.rms_norm"] weights = "again"
  strategy.recompute {PP = 0|2, MB = 0:4} only = ["nn.gelu", "nn.rms_norm"] weights = "again"
  // CHECK-NEXT: strategy.recompute {MB = 0:2|5, PP = 3} none {note = 1}
  strategy.recompute {PP = 3, MB = 0:2|5} none {note = 1}
  // CHECK-NEXT: strategy.overlap over "dp" stream = "exchanges"
  strategy.overlap over "dp" stream = "exchanges"
  // CHECK-NEXT: strategy.overlap over "dp" off
  strategy.overlap over "dp" off
  // CHECK-NEXT: strategy.resource stream "a2a" for exchange over "dp"{{$}}
  strategy.resource stream "a2a" for exchange over "dp"
  // CHECK-NEXT: strategy.resource stream "dp" for reduce_scatter|all_gather|all_reduce over "dp"
  strategy.resource stream "dp" for reduce_scatter | all_gather | all_reduce over "dp"
  // CHECK-NEXT: strategy.resource stream "weights" for compute {PASS = BW, PP = 0|2}
  strategy.resource stream "weights" for compute {PP = 0|2, PASS = BW}
  // CHECK-NEXT: strategy.resource interleave over "dp"
  strategy.resource interleave over "dp"
  // CHECK-NEXT: strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["a2a", "dp"] ctas = 20 min_ctas = 4 nccl = "2.21"
  strategy.resource partition "comm" sms = 24 arch = "sm_90" streams = ["a2a", "dp"] min_ctas = 4 ctas = 20 nccl = "2.21"
  // CHECK-NEXT: strategy.resource partition "compute" arch = "cpu" workers = 1 streams = ["compute"] total = 4
  strategy.resource partition "compute" arch = "cpu" workers = 1 streams = ["compute"] total = 4
  // CHECK-NEXT: strategy.sm_partition arch = "sm_90" comm = 20 streams = ["a2a"] method = "grid"
  strategy.sm_partition arch = "sm_90" comm = 20 streams = ["a2a"] method = "grid"
  // CHECK-NEXT: strategy.optimizer adamw <lr = warmup_cosine<peak = 3.000000e-04, floor = 3.000000e-05, warmup = 20, total = 300>, betas = [9.000000e-01, 0.94999999999999996], weight_decay = 1.000000e-01, clip = 1.000000e+00>
  strategy.optimizer adamw <lr = warmup_cosine<peak = 3.0e-4, floor = 3.0e-5, warmup = 20, total = 300>, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>
}
