// RUN: piper-opt --pass-pipeline='builtin.module(canonicalize{max-iterations=1 test-convergence})' --split-input-file --verify-diagnostics %s

// What still fires when a limit ends the run is named, and where.

func.func @f(%x: i32) -> i32 {
  %c2 = arith.constant 2 : i32
  %a = arith.addi %x, %c2 : i32
  // expected-error@+1 {{canonicalize did not come to an end in 1 round(s): pattern 'arith-add-constants' fired 1 time(s) in the last round}}
  %b = arith.addi %a, %c2 : i32
  func.return %b : i32
}

// -----

func.func @f() -> i32 {
  %c2 = arith.constant 2 : i32
  // expected-error@+1 {{canonicalize did not come to an end in 1 round(s): operations still folded in the last round}}
  %b = arith.addi %c2, %c2 : i32
  func.return %b : i32
}
