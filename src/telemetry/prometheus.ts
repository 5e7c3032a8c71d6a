/** Seconds. */
const usualBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const other = 'other'

export interface RegistryOptions {
  /** How many series one figure may have. What comes beyond that is counted together, as `other`. */
  readonly maxSeries?: number
  /** On every series. */
  readonly labels?: Readonly<Record<string, string>>
}

export interface Counter {
  add(amount: number, ...labels: readonly string[]): void
}

export interface Histogram {
  observe(value: number, ...labels: readonly string[]): void
}

/** Figures of this process, in the form that Prometheus reads (text format 0.0.4). */
export interface Registry {
  counter(name: string, help: string, labels?: readonly string[]): Counter
  histogram(name: string, help: string, labels: readonly string[], buckets?: readonly number[]): Histogram
  /** Asked for when the page is. */
  gauge(name: string, help: string, read: () => number): void
  /** One that goes up and down. */
  level(name: string, help: string, labels?: readonly string[]): Counter
  text(): string
}

export function createRegistry({ maxSeries = 200, labels: common = {} }: RegistryOptions = {}): Registry {
  const metrics = new Map<string, () => string>()
  const constant = Object.entries(common)

  function add(name: string, type: string, help: string, write: () => readonly string[]): void {
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new TypeError(`no name of a metric: ${name}`)
    if (metrics.has(name)) throw new TypeError(`there is a metric ${name} already`)
    metrics.set(name, () => [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...write()].join('\n'))
  }

  /** What belongs to the labels; there are only so many. */
  function series<T>(names: readonly string[], create: () => T) {
    const all = new Map<string, { readonly labels: readonly (readonly [string, string])[]; readonly value: T }>()
    const of = (values: readonly string[]): T => {
      const key = values.join('\0')
      const known = all.get(key)
      if (known) return known.value
      if (all.size >= maxSeries && values.some((value) => value !== other)) return of(names.map(() => other))
      const pairs = names.map((name, at) => [name, values[at] ?? ''] as const)
      const made = { labels: [...constant, ...pairs], value: create() }
      all.set(key, made)
      return made.value
    }
    return { of, all }
  }

  function counted(type: 'counter' | 'gauge', name: string, help: string, labels: readonly string[] = []): Counter {
    const { of, all } = series(labels, () => ({ sum: 0 }))
    add(name, type, help, () =>
      Array.from(all.values(), (each) => `${name}${labelText(each.labels)} ${each.value.sum}`),
    )
    return {
      add(amount, ...values) {
        of(values).sum += amount
      },
    }
  }

  return {
    counter: (name, help, labels) => counted('counter', name, help, labels),
    level: (name, help, labels) => counted('gauge', name, help, labels),
    histogram(name, help, labels, buckets = usualBuckets) {
      const { of, all } = series(labels, () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }))
      add(name, 'histogram', help, () =>
        Array.from(all.values(), ({ labels: given, value: { counts, sum, count } }) => {
          let below = 0
          const lines = buckets.map((bucket, at) => {
            below += counts[at] ?? 0
            return `${name}_bucket${labelText([...given, ['le', `${bucket}`]])} ${below}`
          })
          return [
            ...lines,
            `${name}_bucket${labelText([...given, ['le', '+Inf']])} ${count}`,
            `${name}_sum${labelText(given)} ${sum}`,
            `${name}_count${labelText(given)} ${count}`,
          ].join('\n')
        }),
      )
      return {
        observe(value, ...values) {
          const found = of(values)
          const at = buckets.findIndex((bucket) => value <= bucket)
          if (at >= 0) found.counts[at] = (found.counts[at] ?? 0) + 1
          found.sum += value
          found.count++
        },
      }
    },
    gauge(name, help, read) {
      add(name, 'gauge', help, () => [`${name}${labelText(constant)} ${read()}`])
    },
    text: () => `${Array.from(metrics.values(), (write) => write()).join('\n')}\n`,
  }
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function labelText(labels: readonly (readonly [string, string])[]): string {
  if (labels.length === 0) return ''
  return `{${labels.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(',')}}`
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
