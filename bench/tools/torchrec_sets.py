"""Loads every exported table set of a folder in TorchRec: set_<n>.py with constraints, set_<n>.yaml for its benchmark, set_<n>.json
with the tables and the load factors that are asked about. Prints a JSON line for each set: what was refused, and the miss rates."""

import importlib.util
import json
import logging
import sys
import traceback

import torch
import yaml
from torchrec.distributed.embedding_types import EmbeddingComputeKernel
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
from torchrec.distributed.test_utils.sharding_config import PlannerConfig
from torchrec.distributed.test_utils.table_config import EmbeddingTablesConfig
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

logging.disable(logging.CRITICAL)
WORLD = 2


def constraints_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.constraints


def planned(tables, constraints):
    """TorchRec's own planner makes a plan of them."""
    bags = EmbeddingBagCollection(
        device=torch.device("meta"),
        tables=[
            EmbeddingBagConfig(
                name=t["name"], num_embeddings=t["height"], embedding_dim=t["dim"], feature_names=[t["name"]]
            )
            for t in tables
        ],
    )
    topology = Topology(world_size=WORLD, compute_device="cuda", hbm_cap=1 << 38, ddr_cap=1 << 44)
    planner = EmbeddingShardingPlanner(topology=topology, constraints=constraints)
    plan = planner.plan(torch.nn.ModuleDict({"bags": bags}), [EmbeddingBagCollectionSharder()])
    kernels = {name: p.compute_kernel for name, p in plan.plan["bags"].items()}
    missing = [t["name"] for t in tables if t["name"] not in kernels]
    if missing:
        raise ValueError(f"the plan leaves out {missing}")
    for t in tables:
        if t["keyValue"] and kernels[t["name"]] != EmbeddingComputeKernel.KEY_VALUE.value:
            raise ValueError(f"{t['name']} was planned for {kernels[t['name']]}")


def yaml_loads(path, tables):
    with open(path) as file:
        text = yaml.safe_load(file)
    made = EmbeddingTablesConfig(**text["EmbeddingTablesConfig"]).generate_tables()[0]
    config = PlannerConfig(**text["PlannerConfig"])
    for table, told in zip(made, tables, strict=True):
        if (table.name, table.num_embeddings, table.embedding_dim) != (told["name"], told["height"], told["dim"]):
            raise ValueError(f"{table} is not {told}")
        _, constraint = config.table_to_constraint(table, config.additional_constraints[table.name])
        if constraint.cache_params.load_factor != told["loadFactor"]:
            raise ValueError(f"{table.name} has the load factor {constraint.cache_params.load_factor}")
        if (constraint.key_value_params is not None) != told["keyValue"]:
            raise ValueError(f"{table.name} has {constraint.key_value_params}")


def main(folder):
    with open(f"{folder}/sets.json") as file:
        sets = json.load(file)
    for n, tables in enumerate(sets):
        told = {"set": n, "rejected": [], "misses": {}}
        try:
            constraints = constraints_of(f"{folder}/set_{n}.py", f"set_{n}")
            for t in tables:
                constraint = constraints[t["name"]]
                stats = constraint.cache_params.stats
                if (constraint.key_value_params is not None) != t["keyValue"]:
                    raise ValueError(f"{t['name']} has {constraint.key_value_params}")
                told["misses"][t["name"]] = [stats.expected_miss_rate(at) for at in t["ask"]]
            planned(tables, constraints)
        except Exception:
            told["rejected"].append(traceback.format_exc(limit=-2)[-600:])
        try:
            yaml_loads(f"{folder}/set_{n}.yaml", tables)
        except Exception:
            told["rejected"].append(traceback.format_exc(limit=-2)[-600:])
        print(json.dumps(told), flush=True)


main(sys.argv[1])
