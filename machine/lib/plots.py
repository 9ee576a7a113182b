# SPDX-License-Identifier: GPL-2.0
"""Pictures of a benchmark, drawn by gnuplot as SVG and PNG."""

import shutil
import subprocess
from pathlib import Path

import figures
import tables
from common import Failure, plain_env

# Colours that people with colour blindness can tell apart; the same mode has the same everywhere.
MODE_COLOURS = {"off": "#777777", "base": "#d55e00", "numab": "#0072b2", "numab-off": "#56b4e9",
                "pinned": "#009e73", "inverse": "#cc79a7"}
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777", "#000000"]
PANEL = (480, 300)
LEAST_STEP_S = 0.5
TERMINALS = {"svg": "svg size {w},{h} enhanced font 'sans,11' background '#ffffff'",
             "png": "pngcairo size {w},{h} enhanced font 'sans,10'"}


def clean(text):
    """A text that gnuplot takes as it is."""
    return str(text).replace("\\", "").replace('"', "'").replace("_", r"\\_")


def number(value):
    """A value in a data block; NaN where there is none."""
    return "NaN" if value is None else f"{value:.6g}"


def block(name, rows):
    """A data block."""
    return "\n".join([f"${name} << EOD", *(" ".join(row) for row in rows), "EOD"])


def draw(path, size, commands):
    """Run gnuplot once for both formats; path is without suffix."""
    text = []
    for suffix, terminal in TERMINALS.items():
        text += ["reset", f"set terminal {terminal.format(w=size[0], h=size[1])}",
                 f'set output "{path}.{suffix}"', commands, "set output"]
    done = subprocess.run(["gnuplot"], input="\n".join(text), capture_output=True, text=True,
                          env=plain_env(), check=False)
    problems = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode or problems:
        raise Failure(f"gnuplot, {Path(path).name}: {' '.join(problems)[:300]}")


def begin_s(run):
    """Guest time of the mark at the end of initialisation, on the clock of the series."""
    return run["series"][-1]["end_s"] - run["guest_s"]


def panels(path, title, parts):
    """Several plots in one picture: parts are (data blocks, commands)."""
    columns = min(2, len(parts))
    rows = -(-len(parts) // columns)
    size = (PANEL[0] * columns, PANEL[1] * rows + 30)
    body = [data for data, _ in parts if data]
    body += [f'set multiplot layout {rows},{columns} title "{clean(title)}"', "set grid lt 0",
             "set key outside right top samplen 1"]
    body += [commands for _, commands in parts] + ["unset multiplot"]
    draw(path, size, "\n".join(body))


def first_seed(runs):
    """One run of each mode."""
    found = {}
    for run in runs:
        found.setdefault(run["mode"], run)
    return found


def over_time(name, run, times, columns, labels, settings, stacked=False):
    """A panel with a line, or a layer, for each column of numbers."""
    rows = [[number(t), *map(number, values)] for t, values in zip(times, columns)]
    style = "filledcurves" if stacked else "lines lw 2"
    plots = []
    for i, label in enumerate(labels):
        if stacked:
            low = "+".join(f"${j + 2}" for j in range(i)) or "0"
            using = f"1:({low}):({low}+${i + 2})"
        else:
            using = f"1:{i + 2}"
        plots.append(f'${name} using {using} with {style} lc rgb "{COLOURS[i % len(COLOURS)]}" '
                     f'title "{clean(label)}"')
    commands = [f'set title "{run["mode"]}"', 'set xlabel "guest seconds"', *settings,
                "plot " + ", ".join(plots)]
    return block(name, rows), "\n".join(commands)


def data_name(kind, index):
    """Name of a data block."""
    return f"{kind}{index}"


def up_to(values):
    """The vertical range, the same in all panels so that they can be compared."""
    return f"set yrange [0:{1.05 * max(values, default=1) or 1:.6g}]"


def nodes_over_time(path, title, runs, kind, values_of, settings):
    """Panels by mode with a line for each node; False if no run has the data."""
    found = []
    for run in first_seed(runs).values():
        start = begin_s(run)
        series = [(at - start, values) for at, values in values_of(run)
                  if 0 <= at - start <= run["guest_s"]]
        if series:
            found.append((run, series))
    parts, top = [], up_to(max(v) for _, series in found for _, v in series)
    for index, (run, series) in enumerate(found):
        labels = [f"node {n}" for n in range(len(series[0][1]))]
        parts.append(over_time(data_name(kind, index), run, *zip(*series), labels,
                               [*settings, top]))
    if parts:
        panels(path, title, parts)
    return bool(parts)


def memory(path, title, runs):
    """Memory of each node over time."""
    return nodes_over_time(path, f"Memory per node, {title}", runs, "memory", lambda run: [
        (note["s"], [kib / 1024 for kib in note["node_kib"]]) for note in run["memory"]],
        ['set ylabel "MiB"'])


def threads(path, title, runs):
    """Runnable tasks of each node over time."""
    return nodes_over_time(path, f"Runnable tasks per node, {title}", runs, "tasks", lambda run: [
        (note["s"], note["tasks"]) for note in run.get("node_tasks", [])],
        ['set ylabel "tasks"'])


def local(path, title, runs):
    """Local share over time, a line per run."""
    blocks, plots, seen = [], [], set()
    for index, run in enumerate(runs):
        if not run["local_series"]:
            continue
        name, mode = data_name("local", index), run["mode"]
        blocks.append(block(name, [[number(at), number(share and 100 * share)]
                                   for at, share in run["local_series"]]))
        width, label = (2, mode) if mode not in seen else (0.7, "")
        dash = 2 if mode in ("off", "pinned", "inverse") else 1
        seen.add(mode)
        plots.append(f'${name} using 1:2 with lines lw {width} dt {dash} '
                     f'lc rgb "{MODE_COLOURS.get(mode, COLOURS[0])}" '
                     + (f'title "{label}"' if label else "notitle"))
    if not plots:
        return False
    draw(path, (800, 400), "\n".join([*blocks, f'set title "Local share, {clean(title)}"',
         'set xlabel "guest seconds since the end of initialisation"', "set grid lt 0",
         'set ylabel "local user misses, %"', "set yrange [0:103]",
         "set key outside right top samplen 2", "plot " + ", ".join(plots)]))
    return True


def cost_series(run, labels):
    """Seconds since the mark, and kernel parts in percent of the instructions.

    The program and the machine both make marks; what lies between is joined up to half a second.
    """
    start, series = begin_s(run), []
    since, total, counts = start, 0, [0] * len(labels)
    for entry in run["series"]:
        total += sum(entry["insn"].values())
        counts = [n + entry["parts"].get(p, 0) for n, p in zip(counts, labels)]
        if entry["end_s"] - since >= LEAST_STEP_S and total:
            series.append((entry["end_s"] - start, [100 * n / total for n in counts]))
            since, total, counts = entry["end_s"], 0, [0] * len(labels)
    return series


def cost(path, title, runs):
    """Kernel instructions of each second by part, as layers."""
    found, parts = [], []
    for run in first_seed(runs).values():
        labels = [p for p in tables.PARTS if p in run["overhead_parts"]]
        series = cost_series(run, labels)
        if len(series) > 1:
            found.append((run, labels, series))
    top = up_to(sum(v) for _, _, series in found for _, v in series)
    for index, (run, labels, series) in enumerate(found):
        parts.append(over_time(data_name("cost", index), run, *zip(*series), labels,
                               ['set ylabel "% of all instructions"', top], stacked=True))
    if parts:
        panels(path, f"Kernel work per second, {title}", parts)
    return bool(parts)


def heat(path, title, runs):
    """User misses by node of the CPU and node of the memory."""
    parts = []
    for index, run in enumerate(first_seed(runs).values()):
        total = sum(map(sum, run["matrix"]))
        if not total:
            continue
        name, nodes = data_name("heat", index), len(run["matrix"])
        rows = [[str(x), str(y), number(100 * value / total)]
                for y, row in enumerate(run["matrix"]) for x, value in enumerate(row)]
        parts.append((block(name, rows), "\n".join([
            f'set title "{run["mode"]}"', "unset key", "unset grid", 'set xlabel "memory of node"',
            'set ylabel "CPU of node"', f"set xrange [-0.5:{nodes - 0.5}]", "set xtics 1",
            f"set yrange [{nodes - 0.5}:-0.5]", "set ytics 1", "set cbrange [0:*]",
            'set cblabel "% of user misses"', 'set palette defined (0 "#ffffff", 1 "#0072b2")',
            f"plot ${name} using 1:2:3 with image, ${name} using 1:2:(sprintf('%.0f', $3)) "
            "with labels font ',8'"])))
    if parts:
        panels(path, f"Who uses which memory, {title}", parts)
    return bool(parts)


BARS = (("local_share", "local share, %", 100), ("local_share_last", "local, last third, %", 100),
        ("modelled_vs_pinned", "throughput, % of pinned", 100),
        ("overhead_pct", "kernel above off, %", 1))


def bar_panel(index, figure, entries):
    """Bars of one figure: a cluster per workload and THP, a bar per mode, ends over the seeds."""
    name, label, scale = figure
    groups = list(dict.fromkeys((e["workload"], e["thp"]) for e in entries))
    modes = [m for m in MODE_COLOURS if any(e["mode"] == m for e in entries)]
    width = 0.8 / len(modes)
    blocks, plots = [], []
    for place, mode in enumerate(modes):
        rows = []
        for e in entries:
            middle, ends = e[name]["median"], (e[name]["min"], e[name]["max"])
            if e["mode"] == mode and middle is not None:
                at = groups.index((e["workload"], e["thp"]))
                at += (place - (len(modes) - 1) / 2) * width
                rows.append([number(at), *(number(scale * v) for v in (middle, *ends))])
        if rows:
            data = data_name(f"bars{index}_", place)
            blocks.append(block(data, rows))
            colour = MODE_COLOURS[mode]
            plots += [f'${data} using 1:2:({width * 0.9:.3f}) with boxes lc rgb "{colour}" '
                      f'title "{mode}"',
                      f'${data} using 1:2:3:4 with yerrorbars lc rgb "#000000" ps 0 notitle']
    tics = ", ".join(f'"{clean(w)} {t}" {i}' for i, (w, t) in enumerate(groups))
    commands = [f'set title "{clean(label)}"', f"set xtics ({tics}) rotate by -35 font ',8'",
                f"set xrange [-0.6:{len(groups) - 0.4}]", "set yrange [*<0:*]",
                "set offsets 0, 0, graph 0.03, 0", "set style fill solid 0.8", "set bars 0.5",
                "plot " + ", ".join(plots)]
    return ("\n".join(blocks), "\n".join(commands)) if plots else None


def bars(path, topology, entries):
    """Bars of the main figures of all workloads on a topology."""
    parts = [bar_panel(i, figure, entries) for i, figure in enumerate(BARS)]
    parts = [part for part in parts if part]
    if not parts:
        return False
    groups = len({(e["workload"], e["thp"]) for e in entries})
    size = (max(700, 170 + 90 * groups), 320 * len(parts) + 30)
    draw(path, size, "\n".join([*(data for data, _ in parts),
         f'set multiplot layout {len(parts)},1 title "Workloads on {clean(topology)}"',
         "set grid y lt 0", "set key outside right top samplen 1",
         *(commands for _, commands in parts), "unset multiplot"]))
    return True


KINDS = {"local": ("Local share over time", local), "memory": ("Memory per node", memory),
         "threads": ("Runnable tasks per node", threads), "cost": ("Kernel work by part", cost),
         "heat": ("Who uses which memory", heat)}


class Gallery:
    """Pictures that were drawn, and what went wrong."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.pictures = {}      # section or "all" -> [(title, file relative to the report)]
        self.problems = []
        self.lacking = {}       # kind -> titles

    def add(self, section, name, what, function, *args):
        """Draw one picture; a fault of gnuplot costs that one only."""
        try:
            drawn = function(self.directory / name, *args)
        except Failure as error:
            self.problems.append(str(error))
            return
        if drawn:
            file = f"{self.directory.name}/{name}.svg"
            self.pictures.setdefault(section, []).append((what, file))
        else:
            self.lacking.setdefault(what.split(",", maxsplit=1)[0], []).append(name)

    def notes(self):
        """What is missing, as lines."""
        return [f"no data for '{what}' in {len(names)} pictures, such as {names[0]}"
                for what, names in self.lacking.items()] + self.problems


def draw_all(runs, directory):
    """Draw everything into a directory; returns a Gallery."""
    gallery = Gallery(directory)
    if not shutil.which("gnuplot"):
        gallery.problems.append("no pictures: gnuplot is missing on this system "
                                "('make packages' installs what the stack needs)")
        return gallery
    gallery.directory.mkdir(parents=True, exist_ok=True)
    for group in dict.fromkeys(map(figures.group_of, runs)):
        members = [r for r in runs if figures.group_of(r) == group]
        title = f"{group[0]} on {group[1]}, THP {group[2]}"
        for kind, (what, function) in KINDS.items():
            gallery.add(group[:2], f"{kind}-{'-'.join(group)}", f"{what}, THP {group[2]}",
                        function, title, members)
    entries = figures.summary(runs)
    for topology in dict.fromkeys(e["topology"] for e in entries):
        gallery.add("all", f"bars-{topology}", f"Workloads on {topology}", bars, topology,
                    [e for e in entries if e["topology"] == topology])
    return gallery
