# SPDX-License-Identifier: MIT
"""Two epochs over real .npy and .npz files with four workers; tests/integration/test_torch.py knows what the trace is to say.

Arguments: a folder of samples, how workers start, "persistent" or "fresh", "join" or "kill".
"""

import functools
import io
import json
import os
import pathlib
import signal
import sys

import numpy
import torch

import flowtap
import flowtap.torch

SAMPLES, BATCH, WORKERS, EPOCHS = 32, 4, 4, 2


class Samples(torch.utils.data.Dataset):
    """Each worker writes down which files it read."""

    def __init__(self, folder):
        self.paths = sorted(folder.glob("sample*"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        with flowtap.span("numpy.load", category="data", path=path):
            data = numpy.load(io.BytesIO(path.read_bytes()))  # of a file itself it would read parts twice
            data = data["x"] if path.suffix == ".npz" else data
        return torch.from_numpy(data), os.getpid(), index


def say_hello(greeting, worker):
    flowtap.instant("started", category="test", worker=worker, greeting=greeting)


def make(folder):
    for i in range(SAMPLES):
        data = numpy.full((256 + i, 8), i, dtype=numpy.float32)
        if i % 2:
            numpy.save(folder / f"sample{i:02}.npy", data)
        else:
            numpy.savez(folder / f"sample{i:02}.npz", x=data)


def collate(samples):
    return torch.stack([data[:256] for data, _, _ in samples]), [(pid, index) for _, pid, index in samples]


def train(folder, start, is_persistent, is_killed):
    dataset = Samples(folder)
    loader = flowtap.torch.loader(torch.utils.data.DataLoader(
        dataset, batch_size=BATCH, shuffle=True, num_workers=WORKERS, multiprocessing_context=start, collate_fn=collate,
        persistent_workers=is_persistent, worker_init_fn=functools.partial(say_hello, "hello")))
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    read, children = [], set()
    with flowtap.torch.training(model, optimizer) as run:
        for epoch in run.epochs(EPOCHS):
            steps = iter(loader)
            children |= {worker.pid for worker in steps._workers}
            for step, (data, from_where) in enumerate(steps):
                read += [(pid, index, epoch, step) for pid, index in from_where]
                data.to("meta")
                loss = model(data).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            torch.save(model.state_dict(), folder / f"model{epoch}.pt")
        torch.load(folder / "model0.pt")
        if is_killed:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # PyTorch's own handler would raise
            for worker in steps._workers:
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)
    paths = [str(path) for path in dataset.paths]
    print(json.dumps({"read": [(pid, paths[index], epoch, step) for pid, index, epoch, step in read],
                      "workers": sorted(children)}))


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1])
    make(where)
    train(where, sys.argv[2], sys.argv[3] == "persistent", sys.argv[4] == "kill")
    if sys.argv[4] == "kill":
        sys.stdout.flush()
        os._exit(0)  # PyTorch's own end would tell of workers that are dead
