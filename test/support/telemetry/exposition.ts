export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

/** A strict parser of the Prometheus text format 0.0.4, independent of the code that writes it. */
export function readExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line must end')
  const families = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>()
  let current: { name: string; type: string; help: string; samples: Sample[] } | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (.*)$/.exec(line)
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line)
    if (help) {
      const [, name = '', description = ''] = help
      if (families.has(name)) throw new Error(`two families ${name}`)
      current = { name, type: '', help: description, samples: [] }
      families.set(name, current)
    } else if (type) {
      const [, name, kind = ''] = type
      if (current?.name !== name || current?.samples.length) throw new Error(`TYPE at the wrong place: ${line}`)
      if (current) current.type = kind
    } else {
      const sample = readSample(line)
      const base = current?.type === 'histogram' ? sample.name.replace(/_(bucket|sum|count)$/, '') : sample.name
      if (!current || base !== current.name) throw new Error(`a sample of no family: ${line}`)
      current.samples.push(sample)
    }
  }
  return families
}

function readSample(line: string): Sample {
  const [, name, inner, value] =
    /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)$/.exec(line) ?? []
  if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  let rest = inner ?? ''
  while (rest !== '') {
    const [match, label, quoted] = /^([a-zA-Z_]\w*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/.exec(rest) ?? []
    if (match === undefined || label === undefined || quoted === undefined) throw new Error(`no labels: ${line}`)
    if (label in labels) throw new Error(`two labels ${label}: ${line}`)
    labels[label] = quoted.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
    rest = rest.slice(match.length)
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}
