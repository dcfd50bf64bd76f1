// RUN: piper-opt --split-input-file --verify-diagnostics %s

func.func @f(%x: i32) {
  // expected-error@+1 {{'cf.br' passes 0 value(s) to successor #0, whose block takes 1}}
  cf.br ^a
^a(%y: i32):
  func.return
}

// -----

func.func @f(%x: i32, %c: i1) {
  // expected-error@+1 {{'cf.cond_br' passes i32 as argument 0 of successor #1, which is f32}}
  cf.cond_br %c, ^a(%x : i32), ^b(%x : i32)
^a(%y: i32):
  func.return
^b(%z: f32):
  func.return
}

// -----

func.func @f(%x: i32) {
  // expected-error@+1 {{'cf.switch' has the case 1 twice}}
  cf.switch %x : i32, [default: ^a, 1: ^a, 1: ^a]
^a:
  func.return
}

// -----

func.func @f(%c: i1) {
  // expected-error@+1 {{'cf.cond_br' takes two weights, not 1}}
  cf.cond_br %c weights([3]), ^a, ^a
^a:
  func.return
}
