"builtin.module"() <{sym_name = "jit_control"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<8xf32>, tensor<i32>, tensor<4x8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>, tensor<8xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg8: tensor<8xf32>, %arg9: tensor<i32>, %arg10: tensor<4x8xf32>):
    %11 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %12:3 = "stablehlo.while"(%arg9, %11, %arg8) ({
    ^bb0(%arg26: tensor<i32>, %arg27: tensor<i32>, %arg28: tensor<8xf32>):
      %55 = "stablehlo.convert"(%arg27) : (tensor<i32>) -> tensor<i32>
      %56 = "stablehlo.compare"(%55, %arg26) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%56) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg23: tensor<i32>, %arg24: tensor<i32>, %arg25: tensor<8xf32>):
      %49 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %50 = "stablehlo.add"(%arg24, %49) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %51 = "stablehlo.sine"(%arg25) : (tensor<8xf32>) -> tensor<8xf32>
      %52 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
      %54 = "stablehlo.multiply"(%51, %53) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%arg23, %50, %54) : (tensor<i32>, tensor<i32>, tensor<8xf32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<i32>, tensor<8xf32>)
    %13 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %14 = "stablehlo.compare"(%arg9, %13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %15 = "stablehlo.convert"(%14) : (tensor<i1>) -> tensor<i32>
    %16 = "stablehlo.case"(%15) ({
      %46 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
      %48 = "stablehlo.multiply"(%12#2, %47) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%48) : (tensor<8xf32>) -> ()
    }, {
      %43 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
      %45 = "stablehlo.add"(%12#2, %44) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%45) : (tensor<8xf32>) -> ()
    }) : (tensor<i32>) -> tensor<8xf32>
    %17 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %18 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %19 = "stablehlo.clamp"(%17, %arg9, %18) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %20 = "stablehlo.case"(%19) ({
      "stablehlo.return"(%16) : (tensor<8xf32>) -> ()
    }, {
      %42 = "stablehlo.negate"(%16) : (tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%42) : (tensor<8xf32>) -> ()
    }, {
      %41 = "stablehlo.multiply"(%16, %16) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%41) : (tensor<8xf32>) -> ()
    }) : (tensor<i32>) -> tensor<8xf32>
    %21 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %23 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %25 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %26:4 = "stablehlo.while"(%arg10, %25, %22, %24) ({
    ^bb0(%arg19: tensor<4x8xf32>, %arg20: tensor<i32>, %arg21: tensor<8xf32>, %arg22: tensor<4x8xf32>):
      %39 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
      %40 = "stablehlo.compare"(%arg20, %39) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%40) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg15: tensor<4x8xf32>, %arg16: tensor<i32>, %arg17: tensor<8xf32>, %arg18: tensor<4x8xf32>):
      %34 = "func.call"(%arg15, %arg16) <{callee = @dynamic_index_in_dim}> : (tensor<4x8xf32>, tensor<i32>) -> tensor<8xf32>
      %35:2 = "func.call"(%arg17, %34) <{callee = @closed_call}> : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      %36 = "func.call"(%arg18, %35#1, %arg16) <{callee = @dynamic_update_index_in_dim}> : (tensor<4x8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<4x8xf32>
      %37 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %38 = "stablehlo.add"(%arg16, %37) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg15, %38, %35#0, %36) : (tensor<4x8xf32>, tensor<i32>, tensor<8xf32>, tensor<4x8xf32>) -> ()
    }) : (tensor<4x8xf32>, tensor<i32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<i32>, tensor<8xf32>, tensor<4x8xf32>)
    %27 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %28:2 = "stablehlo.while"(%27, %26#2) ({
    ^bb0(%arg13: tensor<i32>, %arg14: tensor<8xf32>):
      %32 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %33 = "stablehlo.compare"(%arg13, %32) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%33) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg11: tensor<i32>, %arg12: tensor<8xf32>):
      %29 = "func.call"(%arg12) <{callee = @closed_call_0}> : (tensor<8xf32>) -> tensor<8xf32>
      %30 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %31 = "stablehlo.add"(%arg11, %30) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%31, %29) : (tensor<i32>, tensor<8xf32>) -> ()
    }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
    "func.return"(%20, %26#3, %28#1) : (tensor<8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x8xf32>, tensor<i32>) -> tensor<8xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<4x8xf32>, %arg7: tensor<i32>):
    %8 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %9 = "stablehlo.dynamic_slice"(%arg6, %arg7, %8) <{slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %10 = "stablehlo.reshape"(%9) : (tensor<1x8xf32>) -> tensor<8xf32>
    "func.return"(%10) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>), res_attrs = [{}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<8xf32>, %arg5: tensor<8xf32>):
    %6 = "stablehlo.add"(%arg4, %arg5) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %7 = "stablehlo.tanh"(%arg4) : (tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%6, %7) : (tensor<8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<4x8xf32>, res_attrs = [{}], sym_name = "dynamic_update_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<4x8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<i32>):
    %3 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<1x8xf32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.dynamic_update_slice"(%arg1, %3, %arg3, %4) : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    "func.return"(%5) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>) -> tensor<8xf32>, res_attrs = [{}], sym_name = "closed_call_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<8xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %2 = "stablehlo.add"(%arg0, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%2) : (tensor<8xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

