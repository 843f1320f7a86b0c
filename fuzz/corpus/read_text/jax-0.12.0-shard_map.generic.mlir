#loc2 = loc("a")
#loc4 = loc("shard_map")
#loc5 = loc("psum_invariant")
#loc8 = loc("shard_map:"(#loc4))
#loc9 = loc("psum_invariant:"(#loc5))
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "x", size = 4 : i64}]}} : () -> () loc(#loc)
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "mesh_0"}> {stablehlo.mesh = {axes = [{name = "x", size = 4 : i64}]}} : () -> () loc(#loc10)
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x4xf32>) -> tensor<1x4xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x4xf32> loc("a")):
    %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>}> ({
    ^bb0(%arg1: tensor<1x4xf32> loc("shard_map:"(#loc4))):
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("psum_invariant:"(#loc5)), %arg3: tensor<f32> loc("psum_invariant:"(#loc5))):
        %2 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(#loc14)
        "stablehlo.return"(%2) : (tensor<f32>) -> () loc(#loc10)
      }) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc(#loc10)
      "sdy.return"(%1) : (tensor<1x4xf32>) -> () loc(#loc8)
    }) : (tensor<4x4xf32>) -> tensor<1x4xf32> loc(#loc11)
    "func.return"(%0) : (tensor<1x4xf32>) -> () loc(#loc13)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc1 = loc("/tmp/rk-fixtures/programs.py":40:32 to :51)
#loc3 = loc("/tmp/rk-fixtures/programs.py":73:26 to :30)
#loc6 = loc("smap.<locals>.<lambda>"(#loc1))
#loc7 = loc("<module>"(#loc3))
#loc10 = loc("psum_invariant"(#loc6))
#loc11 = loc("jit(<lambda>)/shard_map"(#loc7))
#loc12 = loc(callsite(#loc6 at #loc6))
#loc13 = loc("jit(<lambda>)"(#loc7))
#loc14 = loc("add"(#loc12))
