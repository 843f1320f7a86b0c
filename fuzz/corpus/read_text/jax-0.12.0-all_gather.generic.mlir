#loc2 = loc("x")
#loc4 = loc("shard_map")
#loc6 = loc("reduce_sum")
#loc9 = loc("shard_map:"(#loc4))
#loc11 = loc("reduce_sum:"(#loc6))
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["i"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "i", size = 4 : i64}]}} : () -> () loc(#loc)
  "sdy.mesh"() <{mesh = #sdy.mesh<["i"=4]>, sym_name = "mesh_0"}> {stablehlo.mesh = {axes = [{name = "i", size = 4 : i64}]}} : () -> () loc(#loc12)
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<8x8xf32>) -> tensor<8x8xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x8xf32> loc("x")):
    %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>, manual_axes = #sdy<manual_axes{"i"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>}> ({
    ^bb0(%arg1: tensor<2x8xf32> loc("shard_map:"(#loc4))):
      %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc(#loc14)
      %2 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<2x8xf32>) -> tensor<2x1x8xf32> loc(#loc12)
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<2x1x8xf32>) -> tensor<2x4x8xf32> loc(#loc12)
      %4 = "stablehlo.reduce"(%3, %1) <{dimensions = array<i64: 1>}> ({
      ^bb0(%arg2: tensor<f32> loc("reduce_sum:"(#loc6)), %arg3: tensor<f32> loc("reduce_sum:"(#loc6))):
        %5 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc14)
        "stablehlo.return"(%5) : (tensor<f32>) -> () loc(#loc14)
      }) : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x8xf32> loc(#loc14)
      "sdy.return"(%4) : (tensor<2x8xf32>) -> () loc(#loc9)
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32> loc(#loc13)
    "func.return"(%0) : (tensor<8x8xf32>) -> () loc(#loc15)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc1 = loc("hlo_programs.py":498:21 to :51)
#loc3 = loc("gen_programs.py":9:60 to :71)
#loc5 = loc("hlo_programs.py":498:21 to :58)
#loc7 = loc("<lambda>"(#loc1))
#loc8 = loc("<module>"(#loc3))
#loc10 = loc("<lambda>"(#loc5))
#loc12 = loc("all_gather"(#loc7))
#loc13 = loc("jit(<lambda>)/shard_map"(#loc8))
#loc14 = loc("reduce_sum"(#loc10))
#loc15 = loc("jit(<lambda>)"(#loc8))
