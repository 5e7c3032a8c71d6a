const defaultBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const other = 'other'

export interface MetricRegistryOptions {
  /** Maximum number of series of one metric. Further ones count together as `other`. Defaults to 200. */
  readonly maxSeries?: number
  /** Labels of every series. */
  readonly labels?: Readonly<Record<string, string>>
}

export interface Counter {
  add(amount: number, ...labels: readonly string[]): void
}

export interface Histogram {
  observe(value: number, ...labels: readonly string[]): void
}

/** The metrics of this process, in the Prometheus text format 0.0.4. */
export interface MetricRegistry {
  counter(name: string, help: string, labels?: readonly string[]): Counter
  /** `buckets` are upper bounds in seconds. */
  histogram(name: string, help: string, labels: readonly string[], buckets?: readonly number[]): Histogram
  /** A value that is read when the metrics are. */
  gauge(name: string, help: string, read: () => number): void
  /** A counter that can go down. */
  level(name: string, help: string, labels?: readonly string[]): Counter
  text(): string
}

export function createMetricRegistry({
  maxSeries = 200,
  labels: common = {},
}: MetricRegistryOptions = {}): MetricRegistry {
  const metrics = new Map<string, () => string>()
  const commonLabels = Object.entries(common)

  function add(name: string, type: string, help: string, write: () => readonly string[]): void {
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new TypeError(`no name of a metric: ${name}`)
    if (metrics.has(name)) throw new TypeError(`there is a metric ${name} already`)
    metrics.set(name, () => [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...write()].join('\n'))
  }

  /** The series of one metric, by the values of its labels. */
  function createSeries<T>(names: readonly string[], create: () => T) {
    const all = new Map<string, { readonly labels: Labels; readonly value: T }>()
    const get = (values: readonly string[]): T => {
      const key = values.join('\0')
      const existing = all.get(key)
      if (existing) return existing.value
      if (all.size >= maxSeries && values.some((value) => value !== other)) return get(names.map(() => other))
      const labels = names.map((name, at) => [name, values[at] ?? ''] as const)
      const series = { labels: [...commonLabels, ...labels], value: create() }
      all.set(key, series)
      return series.value
    }
    return { get, all }
  }

  function sum(type: 'counter' | 'gauge', name: string, help: string, labels: readonly string[] = []): Counter {
    const { get, all } = createSeries(labels, () => ({ total: 0 }))
    add(name, type, help, () =>
      Array.from(all.values(), ({ labels, value: { total } }) => `${name}${labelText(labels)} ${total}`),
    )
    return {
      add(amount, ...values) {
        get(values).total += amount
      },
    }
  }

  return {
    counter: (name, help, labels) => sum('counter', name, help, labels),
    level: (name, help, labels) => sum('gauge', name, help, labels),
    histogram(name, help, labelNames, buckets = defaultBuckets) {
      const { get, all } = createSeries(labelNames, () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }))
      add(name, 'histogram', help, () =>
        Array.from(all.values(), ({ labels, value: { counts, sum, count } }) => {
          let cumulative = 0
          const lines = buckets.map((bucket, at) => {
            cumulative += counts[at] ?? 0
            return `${name}_bucket${labelText([...labels, ['le', `${bucket}`]])} ${cumulative}`
          })
          return [
            ...lines,
            `${name}_bucket${labelText([...labels, ['le', '+Inf']])} ${count}`,
            `${name}_sum${labelText(labels)} ${sum}`,
            `${name}_count${labelText(labels)} ${count}`,
          ].join('\n')
        }),
      )
      return {
        observe(value, ...values) {
          const series = get(values)
          const at = buckets.findIndex((bucket) => value <= bucket)
          if (at >= 0) series.counts[at] = (series.counts[at] ?? 0) + 1
          series.sum += value
          series.count++
        },
      }
    },
    gauge(name, help, read) {
      add(name, 'gauge', help, () => [`${name}${labelText(commonLabels)} ${read()}`])
    },
    text: () => `${Array.from(metrics.values(), (write) => write()).join('\n')}\n`,
  }
}

type Labels = readonly (readonly [name: string, value: string])[]

function labelText(labels: Labels): string {
  if (labels.length === 0) return ''
  return `{${labels.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(',')}}`
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
