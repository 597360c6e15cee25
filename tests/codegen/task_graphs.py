"""Programs as tasks and buffers, of the kinds people train, with random sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from wengert.codegen.memory.task_order import Task


@dataclass
class Program:
    """Tasks in the order they are called in, as arguments of `order`, `peak` and `place`."""

    tasks: list[Task] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    alias: dict[int, int] = field(default_factory=dict)

    def call(
        self,
        reads: Iterable[int],
        *sizes: int,
        in_place: bool = False,
        after: tuple[int, ...] = (),
        scratch: int = 0,
    ) -> int:
        """Appends a task with results of these sizes; returns the first one's buffer.

        In place, it may be written over the first operand.
        """
        reads = tuple(reads)
        first = len(self.sizes)
        for buffer, size in enumerate(sizes, first):
            self.sizes[buffer] = size
        writes = tuple(range(first, first + len(sizes)))
        if in_place and reads and reads[0] >= 0:
            self.alias[first] = reads[0]
        self.tasks.append(Task(reads, writes, after, scratch))
        return first

    def store(self, reads: Iterable[int], after: tuple[int, ...] = ()) -> int:
        """Appends a task that writes outside the arena, as an update of a parameter does."""
        self.tasks.append(Task(tuple(reads), (-1000 - len(self.tasks),), after))
        return len(self.tasks) - 1

    def shuffled(self, random: Random) -> Program:
        """The same program with its tasks in another valid order, picked at random."""
        writer = {b: number for number, task in enumerate(self.tasks) for b in task.writes}
        waiting = [
            {writer[b] for b in task.reads if b in writer} | set(task.after) for task in self.tasks
        ]
        order: list[int] = []
        left = set(range(len(self.tasks)))
        while left:
            ready = sorted(t for t in left if not waiting[t] & left)
            order.append(random.choice(ready))
            left.remove(order[-1])
        number = {task: place for place, task in enumerate(order)}
        tasks = [
            Task(t.reads, t.writes, tuple(number[each] for each in t.after), t.scratch)
            for t in (self.tasks[task] for task in order)
        ]
        return Program(tasks, dict(self.sizes), set(self.kept), dict(self.alias))


INPUT = -1  # parameters and data lie outside the arena


def mlp(random: Random, layers: int, updates_last: bool | None = None) -> Program:
    """A training step of a multilayer perceptron: value, gradients, one update per layer.

    The matrix products hold bias and activation, or these are kernels of their own.
    """
    p = Program()
    batch = random.choice([1, 7, 32, 128, 1000]) * 4
    widths = [random.choice([1, 10, 64, 100, 512]) for _ in range(layers + 1)]
    fused = random.random() < 0.5
    late = random.random() < 0.5 if updates_last is None else updates_last
    inputs, outputs = [INPUT], [INPUT]
    for width in widths[1:]:
        z = p.call([inputs[-1], INPUT], batch * width, scratch=random.choice([0, 4096]))
        outputs.append(z if fused else p.call([z], batch * width, in_place=True))
        inputs.append(outputs[-1])
    g = p.call([inputs[-1], INPUT], batch * widths[-1])
    loss = p.call([inputs[-1], INPUT], 4)
    p.kept.add(loss)
    gradients = []
    for layer in reversed(range(layers)):
        if not fused:
            g = p.call([g, outputs[layer + 1]], batch * widths[layer + 1], in_place=True)
        gradients.append(p.call([g, inputs[layer]], widths[layer] * widths[layer + 1] * 4))
        if not late:
            p.store([gradients[-1]])
        if layer:
            g = p.call([g, INPUT], batch * widths[layer], scratch=random.choice([0, 4096]))
    if late:  # all gradients are kept for the norm by which they are clipped
        norm = p.call(gradients, 4)
        for gradient in reversed(gradients):
            p.store([gradient, norm])
    return p


def checkpointed_mlp(random: Random, layers: int, region: int) -> Program:
    """A perceptron whose activations are computed again, region by region, on the way back."""
    p = Program()
    size = random.choice([400, 4000, 40000])
    borders, x = [], INPUT
    for layer in range(layers):
        if layer % region == 0:
            borders.append(x)
        x = p.call([x, INPUT], size)
    g = p.call([x, INPUT], size)
    for number in reversed(range(len(borders))):
        begin, end = number * region, min(layers, (number + 1) * region)
        inside = [borders[number]]
        made_g = next(t for t, task in enumerate(p.tasks) if g in task.writes)
        for _ in range(begin, end - 1):
            inside.append(p.call([inside[-1], INPUT], size, after=(made_g,)))
        for a in reversed(inside):
            gw = p.call([g, a], random.choice([100, size]))
            p.store([gw])
            if a != INPUT:
                g = p.call([g, a, INPUT], size)
    return p


def unet(random: Random, levels: int) -> Program:
    """Encoder, decoder and the links across, with the way back; sizes fall by level."""
    p = Program()
    size = random.choice([16_000, 64_000])
    kinds = []  # of each call on the way: operands, result
    x, links = INPUT, []

    def layer(operands: list[int], size: int) -> int:
        result = p.call(operands, size)
        kinds.append((operands, result))
        return result

    for level in range(levels):
        for _ in range(random.choice([1, 2])):
            x = layer([x], size >> level)
        links.append(x)
        x = layer([x], size >> (level + 1))
    for level in reversed(range(levels)):
        x = layer([layer([x], size >> level), links[level]], size >> level)
    cotangents = {x: p.call([x], p.sizes[x])}
    for operands, result in reversed(kinds):
        g = cotangents.pop(result)
        p.store([p.call([g, *operands], random.choice([64, 2400]))])
        for operand in operands:
            if operand == INPUT:
                continue
            part = p.call([g, result], p.sizes[operand])
            if operand in cotangents:
                sum_size = p.sizes[operand]
                part = p.call([cotangents[operand], part], sum_size, in_place=True)
            cotangents[operand] = part
    return p


def attention(random: Random, layers: int) -> Program:
    """Transformer blocks and their derivatives: residual branches and a large score matrix."""
    p = Program()
    tokens, width, heads = random.choice([16, 64]), random.choice([32, 128]), random.choice([2, 8])
    line, score = tokens * width * 4, tokens * tokens * heads * 4
    x, saved = p.call([INPUT], line), []
    for _ in range(layers):
        n = p.call([x], line)
        q, k, v = (p.call([n, INPUT], line) for _ in range(3))
        s = p.call([p.call([q, k], score)], score, in_place=True)
        y = p.call([x, p.call([s, v], line), INPUT], line, in_place=True)
        h = p.call([y, INPUT], 4 * line)
        z = p.call([y, h, INPUT], line)
        saved.append((x, n, q, k, v, s, y, h))
        x = z
    g = p.call([x], line)
    for x, n, q, k, v, s, y, h in reversed(saved):
        gh = p.call([g, h, INPUT], 4 * line)
        p.store([p.call([g, h], 16 * width * width)])
        p.store([p.call([gh, y], 16 * width * width)])
        gy = p.call([g, gh, INPUT], line, in_place=True)
        gs = p.call([gy, v], score)
        gv = p.call([gy, s], line)
        gz = p.call([gs, s], score, in_place=True)
        gq, gk = p.call([gz, k], line), p.call([gz, q], line)
        for each in (gq, gk, gv):
            p.store([p.call([each, n], 4 * width * width)])
        gn = p.call([gq, gk, gv, INPUT], line, in_place=True)
        g = p.call([gy, gn, x], line, in_place=True)
    return p


def training(random: Random, large: bool = False) -> Program:
    """One of the above; `large` ones have a few hundred tasks."""
    count = random.randint(30, 60) if large else random.randint(1, 12)
    kind = random.randrange(4)
    if kind == 0:
        return mlp(random, count)
    if kind == 1:
        return checkpointed_mlp(random, count, random.randint(1, 7))
    if kind == 2:
        return unet(random, min(7, 1 + count // 2))
    return attention(random, 1 + count // 4)


def anything(random: Random, count: int) -> Program:
    """A random graph: any reads, several results, sizes with 0, scratch, kept buffers, aliases."""
    p = Program()
    for number in range(count):
        known = list(p.sizes)
        reads = random.sample(known, min(len(known), random.choice([0, 1, 1, 2, 2, 3])))
        like = p.sizes[reads[0]] if reads else 64
        sizes = [random.choice([0, 1, 63, 64, 100, 640, 6400, like, like])]
        sizes += [random.choice([0, 64, 1000])] * (random.random() < 0.2)
        after = (random.randrange(number),) if number and random.random() < 0.1 else ()
        scratch = random.choice([0, 0, 0, 100, 3000])
        in_place = random.random() < 0.5
        p.call([*reads, INPUT], *sizes, in_place=in_place, after=after, scratch=scratch)
        if random.random() < 0.1:
            p.store(reads)
    p.kept.update(b for b in p.sizes if random.random() < 0.1)
    return p
