/* Live worlds: small models that the reader moves in the page.

   <longfair-world name="..."> holds its data as JSON, written by Python, and a still figure that
   stays where scripts are off. Every world has a title and three functions:

     start(data)                   the state to begin with
     numbers(data, state)          the model: what follows from a state; nothing is drawn
     view(place, data, choose)     builds controls that call choose(state), and returns a function
                                   (state, numbers, width) that draws

   A test compares `numbers` with Python. A further world is a further entry of `worlds`. The script
   is no module, because a page that is opened from a disk may not load modules. */
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  // Parts of a page -------------------------------------------------------------------------------

  function element(name, attributes = {}, ...children) {
    return filled(document.createElement(name), attributes, children);
  }

  function drawn(name, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, name), attributes, children);
  }

  function filled(node, attributes, children) {
    set(node, attributes);
    node.append(...children);
    return node;
  }

  function set(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  }

  const fixed = (number, digits = 2) => number.toFixed(digits).replace("-", "−");
  const whole = number => number.toLocaleString("en-GB").replace("-", "−");
  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

  let labels = 0;

  /* A slider with a label and its value in words. */
  function slider(text, range, inWords, chosen) {
    const id = `longfair-slider-${labels++}`;
    const output = element("output", { for: id });
    const input = element("input", { id, type: "range", ...range });
    const label = element("label", { for: id }, `${text}: `, output);
    input.addEventListener("input", () => chosen(Number(input.value)));
    const show = value => {
      input.value = value;
      output.textContent = inWords(value);
      input.setAttribute("aria-valuetext", inWords(value));
    };
    return { part: element("div", {}, label, input), show };
  }

  function table(head, rows) {
    const first = element("tr", {}, ...head.map(cell => element("th", { scope: "col" }, cell)));
    const body = rows.map(([name, ...cells]) =>
      element("tr", {}, element("th", { scope: "row" }, name), ...cells.map(cell => element("td", {}, cell))));
    return element("table", {}, element("thead", {}, first), element("tbody", {}, ...body));
  }

  function legend(entries) {
    return element("ul", { class: "legend" }, ...entries.map(([kind, text]) => element("li", {},
      drawn("svg", { width: 28, height: 10, "aria-hidden": "true" },
        drawn("path", { class: `line ${kind}`, d: "M0,5H28" })), text)));
  }

  /* What a world says in words, also to a screen reader whenever it changes. */
  const spoken = () => element("p", { class: "words", role: "status", "aria-live": "polite" });

  // Charts ----------------------------------------------------------------------------------------

  const MARGIN = { left: 48, right: 24, top: 8, bottom: 46 };

  /* Round numbers between two bounds, at most so many pieces, and how each is written. */
  function ticks([low, high], most) {
    const power = 10 ** Math.floor(Math.log10((high - low) / most));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(size => (high - low) / size <= most);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
      const text = (n * step + 0).toLocaleString("en-GB", { minimumFractionDigits: digits });
      found.push([n * step, text.replace("-", "−")]);
    }
    return found;
  }

  /* Axes with their ticks; returns the drawing and where a point of the data lies in it. */
  function axes({ width, height, x, y, across, up, words }) {
    const { left, right, top, bottom } = MARGIN;
    const at = (a, b) => [
      left + (a - x[0]) / (x[1] - x[0]) * (width - left - right),
      height - bottom - (b - y[0]) / (y[1] - y[0]) * (height - top - bottom),
    ];
    const parts = [];
    for (const [tick, text] of ticks(y, 6)) {
      const [, row] = at(x[0], tick);
      parts.push(drawn("path", { class: "grid", d: `M${left},${row}H${width - right}` }));
      parts.push(drawn("text", { x: left - 6, y: row + 4, "text-anchor": "end" }, text));
    }
    for (const [tick, text] of ticks(x, 6)) {
      const [column] = at(tick, y[0]);
      parts.push(drawn("text", { x: column, y: height - bottom + 22, "text-anchor": "middle" }, text));
    }
    const corner = `M${left},${top}V${height - bottom}H${width - right}`;
    parts.push(drawn("path", { class: "axis", d: corner }));
    parts.push(drawn("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, across));
    const role = { role: "img", "aria-label": words, width, height };
    const svg = drawn("svg", role, ...parts);
    return { svg, at, part: element("div", { class: "chart" }, element("p", {}, up), svg) };
  }

  /* Let a point of a chart be moved, by arrow keys in steps and by a pointer to a place of the data. */
  function movable(node, chart, by, to) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    node.addEventListener("keydown", event => {
      if (!steps[event.key]) return;
      event.preventDefault();
      by(steps[event.key]);
    });
    node.addEventListener("pointerdown", event => {
      node.setPointerCapture(event.pointerId);
      node.focus();
      event.preventDefault();
    });
    node.addEventListener("pointermove", event => {
      if (!node.hasPointerCapture(event.pointerId)) return;
      const box = chart.svg.getBoundingClientRect();
      const [[x0, y0], [x1, y1]] = [chart.at(0, 0), chart.at(1, 1)];
      to([(event.clientX - box.x - x0) / (x1 - x0), (event.clientY - box.y - y0) / (y1 - y0)]);
    });
    return node;
  }

  const path = points => `M${points.map(point => point.join(",")).join("L")}`;
  const line = (at, points, kind) => drawn("path", { class: `line ${kind}`, d: path(points.map(p => at(...p))) });

  /* Width of a chart: two beside each other where there is room, else one below the other. */
  const half = width => width >= 560 ? (width - 16) / 2 : width;

  // Lending: a threshold for each group ------------------------------------------------------------

  const lending = {
    title: "Lending with a threshold for each group",
    start: data => [...data.start],

    /* One applicant after the other, as LendingVectorEnv has them. */
    numbers(data, thresholds) {
      const bytes = Uint8Array.from(atob(data.draws), character => character.charCodeAt(0));
      const draws = new DataView(bytes.buffer);
      const uniform = place => (draws.getUint16(2 * place, true) + 0.5) / data.levels;
      const applicants = bytes.length / 6;
      const top = data.repay.length - 1;
      const distribution = data.initial.map(row => [...row]);
      const [supply, demand, loans] = [[0, 0], [0, 0], [0, 0]];
      const course = { served: [], profit: [], rates: [], bias: [], scores: [], loans };
      let profit = 0;
      for (let served = 0; served < applicants; served++) {
        const group = uniform(3 * served) >= data.groupLimit ? 1 : 0;
        const own = distribution[group];
        let score = 0;
        for (let limit = own[0]; score < top && uniform(3 * served + 1) >= limit; limit += own[score]) score++;
        const repays = uniform(3 * served + 2) < data.repay[score] ? 1 : 0;
        demand[group] += repays;
        if (score >= thresholds[group]) {
          loans[group]++;
          supply[group] += repays;
          profit += data.profit[repays];
          const target = repays ? Math.min(score + 1, top) : Math.max(score - 1, 0);
          const mass = Math.min(own[score], data.massShift);
          own[score] -= mass;
          own[target] += mass;
        }
        if ((served + 1) % data.every === 0) {
          const rates = supply.map((given, g) => given / demand[g]);
          course.served.push(served + 1);
          course.profit.push(profit);
          course.rates.push(rates);
          course.bias.push(Math.abs(rates[0] - rates[1]));
          course.scores.push(distribution.map(row => row.reduce((sum, part, c) => sum + part * c, 0)));
        }
      }
      return course;
    },

    view(place, data, choose) {
      const top = data.repay.length;
      const inWords = limit => limit === 0 ? "to everybody" : limit === top ? "to nobody" : `from score ${limit}`;
      let now = data.start;
      const sliders = data.groups.map((group, g) =>
        slider(`Lend to the ${group} group`, { min: 0, max: top, step: 1 }, inWords,
          limit => choose(now.map((old, other) => other === g ? limit : old))));
      const charts = element("div", { class: "charts" });
      const [words, numbers] = [spoken(), element("div")];
      const names = legend([
        ...data.groups.map((group, g) => [`group-${g}`, `benefit rate, ${group}`]),
        ["bias", "bias, their distance"],
      ]);
      const controls = element("div", { class: "controls" }, ...sliders.map(one => one.part));
      place.append(controls, words, names, charts, numbers);
      return (thresholds, course, width) => {
        now = thresholds;
        sliders.forEach((one, g) => one.show(thresholds[g]));
        const last = course.served.length - 1;
        const [served, profit] = [course.served[last], course.profit[last]];
        const [rates, bias] = [course.rates[last], course.bias[last]];
        words.textContent = `After ${whole(served)} applicants the bank has earned the amount of `
          + `${whole(profit)} loans. `
          + `The benefit rate is ${data.groups.map((group, g) => `${fixed(rates[g])} (${group})`).join(" and ")}, `
          + `the bias ${fixed(bias)}.`;
        const wide = { width: half(width), height: 220, x: [0, served], across: "applicants" };
        const left = axes({ ...wide, y: [0, 1], up: "rate and bias so far",
          words: "Benefit rates and bias over the applicants; the numbers are in the table." });
        const along = pick => course.served.map((count, n) => [count, pick(n)]);
        left.svg.append(
          ...data.groups.map((_, g) => line(left.at, along(n => course.rates[n][g]), `group-${g}`)),
          line(left.at, along(n => course.bias[n]), "bias"));
        const right = axes({ ...wide, y: data.profits, up: "profit so far (loans)",
          words: "Profit over the applicants." });
        right.svg.append(line(right.at, [[0, 0], ...along(n => course.profit[n])], "plain"));
        charts.replaceChildren(left.part, right.part);
        numbers.replaceChildren(table(["Group", "Loans", "Benefit rate", "Mean score at the end"],
          data.groups.map((group, g) =>
            [group, whole(course.loans[g]), fixed(rates[g]), fixed(course.scores[last][g])])));
      };
    },
  };

  // Two histories: what three notions say -----------------------------------------------------------

  const FAIR = 1e-9; // what rounding leaves of a gap that is none

  const histories = {
    title: "Two days of loans, to be moved",
    start: data => structuredClone(data.histories[0]),

    /* Rates of two days, and three ways of adding them up. */
    numbers(_, { supply, demand }) {
      const gaps = supply.map((row, day) => row[0] / demand[day][0] - row[1] / demand[day][1]);
      const total = (rows, group) => rows.reduce((sum, row) => sum + row[group], 0);
      const rates = [0, 1].map(group => total(supply, group) / total(demand, group));
      return {
        gaps,
        rates,
        signed: gaps[0] + gaps[1],
        squared: gaps[0] ** 2 + gaps[1] ** 2,
        bias: Math.abs(rates[0] - rates[1]),
      };
    },

    /* The two points of a group: where it stands after the first day, and after both. */
    points({ supply, demand }, group) {
      const first = [demand[0][group], supply[0][group]];
      return [first, [first[0] + demand[1][group], first[1] + supply[1][group]]];
    },

    /* The history in which one point is as near as it may be to where the reader wants it: on each
       day at least one person applies, and nobody gets a loan who did not. */
    moved(data, state, group, end, [across, up]) {
      const kept = (value, low, high) => Math.min(Math.max(value, low), high);
      let [[a, b], [c, d]] = histories.points(state, group);
      if (end) {
        c = kept(across, a + 1, data.most);
        d = kept(up, b, b + c - a);
      } else {
        a = kept(across, 1, c - 1);
        b = kept(up, Math.max(0, d - (c - a)), Math.min(a, d));
      }
      const next = structuredClone({ supply: state.supply, demand: state.demand });
      [next.demand[0][group], next.supply[0][group]] = [a, b];
      [next.demand[1][group], next.supply[1][group]] = [c - a, d - b];
      return next;
    },

    view(place, data, choose) {
      const buttons = data.histories.map(history => {
        const button = element("button", { type: "button" }, `History ${history.name}`);
        button.addEventListener("click", () => choose(structuredClone(history)));
        return button;
      });
      const names = legend(data.groups.flatMap((group, g) => [
        [`group-${g}`, `${group}, day by day`],
        [`broad group-${g}`, `${group}, both days together`],
      ]));
      const [ground, words, verdicts] = [element("div"), spoken(), element("div")];
      const help = element("p", {}, "Drag a point, or go to it with the tab key and move it with the "
        + "arrow keys: to the right for more applications, upwards for more loans.");
      place.append(help, element("div", {}, ...buttons), names, ground, words, verdicts);
      let [now, frame] = [null, null];

      function build(width) {
        const size = Math.min(width, 460);
        const space = [0, data.most];
        frame = axes({ width: size, height: size * 0.85, x: space, y: space, across: "applications so far",
          up: "loans so far", words: "Loans over applications of two groups, with points to move." });
        frame.width = width;
        frame.svg.setAttribute("role", "group"); // an image could hold no points
        frame.broad = data.groups.map((_, g) => drawn("path", { class: `line broad group-${g}` }));
        frame.lines = data.groups.map((_, g) => drawn("path", { class: `line group-${g}` }));
        // The square is larger and comes first, so that both can be seen and taken where they meet.
        frame.handles = [1, 0].flatMap(g => [0, 1].map(end => handle(g, end)));
        frame.svg.append(...frame.broad, ...frame.lines, ...frame.handles.map(one => one.node));
        ground.replaceChildren(frame.part);
      }

      function handle(group, end) {
        const shape = group ? drawn("rect", { class: "shape", x: -10, y: -10, width: 20, height: 20 })
          : drawn("circle", { class: "shape", r: 7 });
        const day = end ? "after both days" : "after the first day";
        const node = drawn("g", { class: `point group-${group}`, tabindex: 0, role: "slider",
          "aria-roledescription": "point", "aria-label": `${data.groups[group]}, ${day}`,
          "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": data.most },
          drawn("circle", { class: "target", r: group ? 22 : 12 }), shape);
        const go = to => choose(histories.moved(data, now, group, end, to));
        const at = () => histories.points(now, group)[end];
        movable(node, frame, step => go(at().map((count, axis) => count + step[axis])),
          place => go(place.map(Math.round)));
        return { node, group, end };
      }

      return (state, found, width) => {
        now = state;
        if (frame?.width !== width) build(width);
        data.groups.forEach((_, g) => {
          const [first, both] = histories.points(state, g);
          set(frame.lines[g], { d: path([[0, 0], first, both].map(p => frame.at(...p))) });
          set(frame.broad[g], { d: path([[0, 0], both].map(p => frame.at(...p))) });
        });
        for (const { node, group, end } of frame.handles) {
          const [across, up] = histories.points(state, group)[end];
          set(node, { transform: `translate(${frame.at(across, up)})`, "aria-valuenow": up,
            "aria-valuetext": `${up} of ${across} applications granted` });
        }
        const verdict = value => Math.abs(value) < FAIR ? "fair" : "unfair";
        const rows = [
          ["Day by day, gaps with their signs", found.signed],
          ["Day by day, squared gaps", found.squared],
          ["Both days together (ELBERT's bias)", found.bias],
        ];
        words.textContent = `Day by day: ${verdict(found.signed)} with signs, ${verdict(found.squared)} squared. `
          + `Both days together: ${verdict(found.bias)}, `
          + `${data.groups.map((group, g) => `${group} ${fixed(found.rates[g])}`).join(" and ")}.`;
        verdicts.replaceChildren(table(["Notion", "Unfairness", "Calls it"],
          rows.map(([name, value]) => [name, fixed(value), verdict(value)])));
      };
    },
  };

  // The price of fairness -----------------------------------------------------------------------

  const price = {
    title: "The price of fairness at a tolerance",
    start: data => data.start,

    /* The best policy within a tolerance: between two corners of the frontier their mixture. */
    numbers(data, tolerance) {
      const last = data.gap.length - 1;
      const gap = Math.min(tolerance, data.gap[last]);
      let corner = 0;
      while (corner < last - 1 && data.gap[corner + 1] <= gap) corner++;
      const share = (gap - data.gap[corner]) / (data.gap[corner + 1] - data.gap[corner]);
      const mixed = (one, other) => (1 - share) * one + share * other;
      const lends = [...data.lends];
      for (const change of data.changes.slice(0, corner)) {
        for (const [state, after] of change) lends[state] = after;
      }
      const coins = [];
      for (const [state, after, weight, weightAfter] of data.changes[corner]) {
        const visits = mixed(weight, weightAfter);
        const loans = mixed(lends[state] === 1 ? weight : 0, after === 1 ? weightAfter : 0);
        lends[state] = visits > 0 ? loans / visits : -1;
        if (lends[state] > 0 && lends[state] < 1) coins.push(state);
      }
      return {
        gap,
        profit: mixed(data.profit[corner], data.profit[corner + 1]),
        rates: data.groups.map((_, g) => mixed(data.rates[corner][g], data.rates[corner + 1][g])),
        lends,
        coins,
      };
    },

    view(place, data, choose) {
      const last = data.gap.length - 1;
      const free = price.numbers(data, data.gap[last]);
      const most = Math.ceil(data.gap[last] * 1000) / 1000;
      const control = slider("Largest gap allowed between the groups' lending rates",
        { min: 0, max: most, step: 0.001 }, tolerance => fixed(tolerance, 3), choose);
      const charts = element("div", { class: "charts" });
      const policies = element("div", { class: "charts" });
      const [words, numbers] = [spoken(), element("div")];
      const key = element("p", {}, "Each square is a situation: loans repaid upwards, loans not repaid to the right. "
        + "Large: the bank lends. Small: it denies. With a frame: it decides otherwise than without a constraint. "
        + "A round spot: it tosses a coin.");
      place.append(control.part, words, charts, key, policies, numbers);

      function kind(found, state) {
        const [chance, before] = [found.lends[state], free.lends[state]];
        if (chance > 0 && chance < 1) return "coin";
        if (chance === 1) return before === 0 ? "gains" : "lends";
        return before === 1 ? "loses" : "denies";
      }

      function map(found, group, width) {
        const own = data.states.flatMap(([g], state) => g === group && found.lends[state] >= 0 ? [state] : []);
        const size = Math.max(...data.states.map(([, repaid]) => repaid)) + 1;
        const counted = own.filter(state => found.lends[state] > 0).length;
        const frame = axes({ width, height: width, x: [0, size], y: [0, size], across: "not repaid",
          up: `${data.groups[group]}: loans repaid`,
          words: `Policy for the ${data.groups[group]}: the bank lends in ${counted} of ${own.length} situations.` });
        const step = frame.at(1, 0)[0] - frame.at(0, 0)[0];
        for (const state of own) {
          const [, repaid, lost] = data.states[state];
          const [x, y] = frame.at(lost + 0.5, repaid + 0.5);
          const name = kind(found, state);
          const side = step * { lends: 0.8, gains: 0.9, denies: 0.35, loses: 0.6 }[name];
          const [left, top] = [x - side / 2, y - side / 2];
          frame.svg.append(name === "coin"
            ? drawn("circle", { class: "situation-coin", cx: x, cy: y, r: Math.max(step * 0.9, 0) })
            : drawn("rect", { class: `situation-${name}`, x: left, y: top, width: Math.max(side, 0), height: Math.max(side, 0) }));
        }
        return frame.part;
      }

      return (tolerance, found, width) => {
        control.show(tolerance);
        const lost = 1 - found.profit / free.profit;
        words.textContent = `The best policy with a gap of at most ${fixed(tolerance, 3)} earns `
          + `${fixed(found.profit, 4)}, ${fixed(100 * lost, 1)} % less than without a constraint.`;
        const low = price.numbers(data, 0).profit;
        const frame = axes({ width, height: 220, x: [0, most], y: [low, free.profit],
          across: "tolerance", up: "profit of the best policy",
          words: "The best profit over the tolerance, a concave line." });
        const kept = data.gap.flatMap((gap, n) => gap > 0 ? [[gap, data.profit[n]]] : []);
        frame.svg.append(line(frame.at, [[0, low], ...kept], "plain"));
        const [cx, cy] = frame.at(found.gap, found.profit);
        frame.svg.append(drawn("circle", { class: "dot", cx, cy, r: 6 }));
        charts.replaceChildren(frame.part);
        policies.replaceChildren(...data.groups.map((_, g) => map(found, g, Math.min(half(width), 420))));
        const visited = data.states.flatMap((_, state) => found.lends[state] >= 0 ? [state] : []);
        const count = name => visited.filter(state => kind(found, state) === name).length;
        const coins = found.coins.map(state => {
          const [group, repaid, not] = data.states[state];
          return `${data.groups[group]}, ${repaid} repaid, ${not} not: lends with ${fixed(found.lends[state], 3)}`;
        });
        numbers.replaceChildren(table(["What", "Value"], [
          ["Gap", fixed(found.gap, 4)],
          ...data.groups.map((group, g) => [`Lending rate, ${group}`, fixed(found.rates[g], 4)]),
          ["Situations with a loan only for the constraint", String(count("gains"))],
          ["Situations denied only for the constraint", String(count("loses"))],
          ["Tosses a coin", coins.join("; ") || "nowhere"],
        ]));
      };
    },
  };

  // A population: where two thresholds lead -------------------------------------------------------

  const population = {
    title: "A population under a threshold for each group",
    start: data => ({ rates: [...data.start], positions: [...data.positions] }),

    /* Qualification rates after one step, for a group that is accepted as the pair says. */
    following(data, rate, [unqualified, qualified]) {
      const fit = (label, share) => data.rejected[label] + (data.fitness[label] - data.rejected[label]) * share;
      const grown = rate * fit(1, qualified);
      const after = grown / (grown + (1 - rate) * fit(0, unqualified));
      return Math.min(Math.max(after, data.margin), 1 - data.margin);
    },

    numbers(data, { rates, positions }) {
      const accepted = positions.map((position, g) => data.accepted[position][g]);
      const found = { rates: [rates], loss: [], gap: [] };
      for (let step = 0; step < data.steps; step++) {
        const now = found.rates[step];
        const worth = now.map((rate, g) => data.shares[g] * rate * accepted[g][1]);
        const lets = now.map((rate, g) => rate * accepted[g][1] + (1 - rate) * accepted[g][0]);
        found.loss.push(1 - worth[0] - worth[1]);
        found.gap.push((lets[0] - lets[1]) ** 2);
        found.rates.push(now.map((rate, g) => population.following(data, rate, accepted[g])));
      }
      return found;
    },

    view(place, data, choose) {
      const most = data.thresholds.length - 1;
      const inWords = position => position === 0 ? "nearly everybody is accepted"
        : position === most ? "nearly nobody is accepted" : `from ${fixed(data.thresholds[position], 1)} on`;
      let [now, frame] = [null, null];
      const sliders = data.groups.map((group, g) =>
        slider(`Accept in ${group}`, { min: 0, max: most, step: 1 }, inWords,
          position => choose({ ...now, positions: now.positions.map((old, other) => other === g ? position : old) })));
      const controls = element("div", { class: "controls" }, ...sliders.map(one => one.part));
      const help = element("p", {}, "Drag the spot, where the population begins, or go to it with the tab key and "
        + "move it with the arrow keys. Arrows show where one step leads from elsewhere.");
      const charts = element("div", { class: "charts" });
      const [ground, course] = [element("div"), element("div")];
      charts.append(ground, course);
      const [words, numbers] = [spoken(), element("div")];
      const names = legend([
        ...data.groups.map((group, g) => [`group-${g}`, `qualified, ${group}`]),
        ["bias", "loss of the step"],
      ]);
      place.append(help, controls, words, names, charts, numbers);

      const kept = rate => Math.min(Math.max(rate, 0.01), 0.99);
      const go = rates => choose({ ...now, rates: rates.map(kept) });

      function build(width) {
        const size = Math.min(half(width), 420);
        frame = axes({ width: size, height: size, x: [0, 1], y: [0, 1], across: `qualified in ${data.groups[0]}`,
          up: `qualified in ${data.groups[1]}`, words: "Qualification rates of two groups, with a start to move." });
        frame.width = width;
        frame.svg.setAttribute("role", "group"); // an image could hold no spot to move
        frame.arrows = drawn("path", { class: "flow" });
        frame.path = drawn("path", { class: "line group-0" });
        frame.end = drawn("circle", { class: "dot", r: 4 });
        frame.spot = spot();
        frame.svg.append(frame.arrows, frame.path, frame.end, frame.spot);
        ground.replaceChildren(frame.part);
      }

      function spot() {
        const node = drawn("g", { class: "point group-1", tabindex: 0, role: "slider",
          "aria-roledescription": "point", "aria-label": "start of the population",
          "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 1 },
          drawn("circle", { class: "target", r: 22 }), drawn("circle", { class: "shape", r: 8 }));
        return movable(node, frame, step => go(now.rates.map((rate, g) => (Math.round(rate * 50) + step[g]) / 50)), go);
      }

      /* Short arrows on a grid, each as long as its step, but no longer than the grid is wide. */
      function flow(positions) {
        const parts = [];
        for (let column = 0; column < 10; column++) {
          for (let row = 0; row < 10; row++) {
            const from = [0.05 + column / 10, 0.05 + row / 10];
            const step = from.map((rate, g) =>
              population.following(data, rate, data.accepted[positions[g]][g]) - rate);
            const shrink = Math.min(1, 0.08 / Math.hypot(...step));
            const [x0, y0] = frame.at(...from);
            const [x1, y1] = frame.at(...from.map((rate, g) => rate + shrink * step[g]));
            const angle = Math.atan2(y1 - y0, x1 - x0);
            const barb = turn => `${x1 - 4 * Math.cos(angle + turn)},${y1 - 4 * Math.sin(angle + turn)}`;
            parts.push(`M${x0},${y0}L${x1},${y1}M${barb(0.5)}L${x1},${y1}L${barb(-0.5)}`);
          }
        }
        return parts.join("");
      }

      return (state, found, width) => {
        now = state;
        if (frame?.width !== width) build(width);
        sliders.forEach((one, g) => one.show(state.positions[g]));
        set(frame.arrows, { d: flow(state.positions) });
        set(frame.path, { d: path(found.rates.map(pair => frame.at(...pair))) });
        const last = found.rates[data.steps];
        const [cx, cy] = frame.at(...last);
        set(frame.end, { cx, cy });
        const told = pair => data.groups.map((group, g) => `${fixed(pair[g])} (${group})`).join(" and ");
        set(frame.spot, { transform: `translate(${frame.at(...state.rates)})`,
          "aria-valuenow": fixed(state.rates[1]), "aria-valuetext": told(state.rates) });
        words.textContent = `From qualification rates ${told(state.rates)}, ${data.steps} steps lead to ${told(last)}. `
          + `The mean loss is ${fixed(mean(found.loss))}.`;
        const right = axes({ width: half(width), height: Math.min(half(width), 420), x: [0, data.steps], y: [0, 1],
          across: "step", up: "shares and loss, step by step",
          words: "Qualification rates and loss over the steps; the numbers are in the table." });
        right.svg.append(
          ...data.groups.map((_, g) => line(right.at, found.rates.map((pair, n) => [n, pair[g]]), `group-${g}`)),
          line(right.at, found.loss.map((loss, n) => [n, loss]), "bias"));
        course.replaceChildren(right.part);
        numbers.replaceChildren(table(["What", "First step", "Last step", "Mean"], [
          ["Loss", fixed(found.loss[0], 3), fixed(found.loss[data.steps - 1], 3), fixed(mean(found.loss), 3)],
          ["Squared gap in acceptance", fixed(found.gap[0], 4), fixed(found.gap[data.steps - 1], 4), fixed(mean(found.gap), 4)],
        ]));
      };
    },
  };

  // Doughnuts: how far back a memory goes --------------------------------------------------------

  const doughnuts = {
    title: "Doughnuts by a rule that remembers the last of them",
    start: data => ({ place: data.start, coin: true }),

    /* Of those who are there the one is served who had fewest of the last so many doughnuts. */
    numbers(data, { place, coin }) {
      const [there, dice] = [data.there, data.dice].map(text =>
        Uint8Array.from(atob(text), character => character.charCodeAt(0)));
      const people = [...data.groups.keys()];
      const found = { counts: [], returns: [], lead: Array(data.length).fill(0) };
      for (let episode = 0; episode < data.episodes; episode++) {
        const [counts, remembered, served] = [people.map(() => 0), people.map(() => 0), []];
        let total = 0;
        for (let step = 0; step < data.length; step++) {
          const forgotten = served[step - data.spans[place] - 1];
          if (forgotten >= 0) remembered[forgotten]--;
          const draw = step * data.episodes + episode;
          const present = people.filter(person => there[draw] >> person & 1);
          const fewest = Math.min(...present.map(person => remembered[person]));
          const equal = present.filter(person => remembered[person] === fewest);
          const chosen = equal.length ? equal[coin ? dice[draw] % equal.length : 0] : -1;
          served.push(chosen);
          if (chosen >= 0) {
            counts[chosen]++;
            remembered[chosen]++;
            total += counts.reduce((sum, count) => sum + Math.log(count + 1 + data.smoothing), 0);
          }
          found.lead[step] += (Math.max(...counts) - Math.min(...counts)) / data.episodes;
        }
        found.counts.push(counts);
        found.returns.push(total);
      }
      return found;
    },

    view(place, data, choose) {
      const last = data.spans.length - 1;
      const inWords = n => n === 0 ? "no doughnut" : n === last ? "all doughnuts"
        : data.spans[n] === 1 ? "the last doughnut" : `the last ${data.spans[n]} doughnuts`;
      let now = null;
      const memory = slider("The rule remembers", { min: 0, max: last, step: 1 }, inWords,
        n => choose({ ...now, place: n }));
      const buttons = [[true, "A coin decides ties"], [false, "A fixed order decides ties"]].map(([coin, text]) => {
        const button = element("button", { type: "button" }, text);
        button.addEventListener("click", () => choose({ ...now, coin }));
        return { coin, button };
      });
      const charts = element("div", { class: "charts" });
      const [words, numbers] = [spoken(), element("div")];
      const names = legend([["group-0", "this rule"], ["bias", "all doughnuts remembered, a coin"]]);
      place.append(memory.part, element("div", {}, ...buttons.map(one => one.button)), words, names, charts, numbers);
      const best = doughnuts.numbers(data, { place: last, coin: true });
      return (state, found, width) => {
        now = state;
        memory.show(state.place);
        for (const { coin, button } of buttons) set(button, { "aria-pressed": coin === state.coin });
        const [earned, most] = [mean(found.returns), mean(best.returns)];
        const lead = found.lead[data.length - 1];
        words.textContent = `Over ${data.episodes} episodes of ${data.length} doughnuts the mean return is `
          + `${whole(Math.round(earned))}; with a memory of all doughnuts it is ${whole(Math.round(most))}. `
          + `In the end the best served is ${fixed(lead, 1)} doughnuts ahead of the worst served.`;
        const people = [...data.groups.keys()];
        const counts = people.map(person => mean(found.counts.map(row => row[person])));
        const size = { width: half(width), height: 220 };
        const left = axes({ ...size, x: [0, data.length], y: [0, data.most], across: "doughnuts handed out",
          up: "lead of the best served so far", words: "The lead over the doughnuts that were handed out." });
        const along = course => course.map((value, n) => [n + 1, value]);
        left.svg.append(line(left.at, along(best.lead), "bias"), line(left.at, along(found.lead), "group-0"));
        const right = axes({ ...size, x: [0.5, data.groups.length + 0.5], y: [0, data.most], across: "person",
          up: "doughnuts in the end", words: "Doughnuts of every person; the numbers are in the table." });
        for (const person of people) {
          const [[x, top], [end, ground]] = [right.at(person + 0.7, counts[person]), right.at(person + 1.3, 0)];
          right.svg.append(drawn("rect", { class: "situation-lends", x, y: top, width: Math.max(end - x, 0), height: ground - top }));
        }
        charts.replaceChildren(left.part, right.part);
        numbers.replaceChildren(table(["Person", "Doughnuts, mean of the episodes"],
          people.map(person => [data.groups[person], fixed(counts[person], 1)])));
      };
    },
  };

  // The element -----------------------------------------------------------------------------------

  class LongfairWorld extends HTMLElement {
    static worlds = { lending, histories, price, population, doughnuts };

    connectedCallback() {
      const name = this.getAttribute("name");
      const world = LongfairWorld.worlds[name];
      if (!world) throw new Error(`longfair-world ${name}: give one of ${Object.keys(LongfairWorld.worlds)}`);
      this.data = JSON.parse(this.querySelector("script").textContent);
      for (const part of this.children) part.hidden = true; // the still figure
      const place = element("div", { role: "group", "aria-label": world.title });
      this.append(place);
      let state = world.start(this.data);
      const show = world.view(place, this.data, next => {
        state = next;
        draw();
      });
      let width = place.clientWidth;
      const draw = () => show(state, world.numbers(this.data, state), width);
      draw();
      new ResizeObserver(() => {
        if (place.clientWidth === width) return; // drawing changes the height, which must not draw
        width = place.clientWidth;
        draw();
      }).observe(place);
    }
  }

  customElements.define("longfair-world", LongfairWorld);
})();
