#loc1 = loc("x")
#loc3 = loc("shard_map")
#loc6 = loc("shard_map:"(#loc3))
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["i"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "i", size = 4 : i64}]}} : () -> () loc(#loc)
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<8x8xf32>) -> tensor<32x2xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x8xf32> loc("x")):
    %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>, manual_axes = #sdy<manual_axes{"i"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>}> ({
    ^bb0(%arg1: tensor<2x8xf32> loc("shard_map:"(#loc3))):
      %1 = "stablehlo.all_to_all"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<2x8xf32>) -> tensor<8x2xf32> loc(#loc9)
      "sdy.return"(%1) : (tensor<8x2xf32>) -> () loc(#loc6)
    }) : (tensor<8x8xf32>) -> tensor<32x2xf32> loc(#loc8)
    "func.return"(%0) : (tensor<32x2xf32>) -> () loc(#loc10)
  }) : () -> () loc(#loc)
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(#loc)
#loc = loc(unknown)
#loc2 = loc("gen_programs.py":9:60 to :71)
#loc4 = loc("hlo_programs.py":494:21 to :61)
#loc5 = loc("<module>"(#loc2))
#loc7 = loc("<lambda>"(#loc4))
#loc8 = loc("jit(<lambda>)/shard_map"(#loc5))
#loc9 = loc("all_to_all"(#loc7))
#loc10 = loc("jit(<lambda>)"(#loc5))
