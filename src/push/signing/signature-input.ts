/** One entry of `Signature-Input` (RFC 9421 §4.1). */
export interface SignatureInput {
  readonly label: string
  readonly components: readonly string[]
  /** Seconds since 1970. */
  readonly created?: number
  readonly expires?: number
  readonly keyid?: string
  readonly alg?: string
  readonly nonce?: string
  /** All of it behind the label, word for word, for that is signed, too. */
  readonly text: string
}

/** So many signatures are looked at. */
const maxEntries = 4

const list = /\((?<components>(?:"[!#-[\]-~]*"(?: +(?="))?)*)\)/
const parameter = /;\s*(?<name>[a-z]+)=(?:"(?<text>[ !#-[\]-~]*)"|(?<number>-?\d{1,15}))/
const entry = new RegExp(
  `(?:^|,)\\s*(?<label>[a-z*][a-z\\d_.*-]*)=(?<text>${withoutNames(list)}(?:${withoutNames(parameter)})*)\\s*(?=,|$)`,
  'g',
)

/** The entries that can be read; those with parameters of components, which nobody here makes, are left out. */
export function readSignatureInputs(header: string): readonly SignatureInput[] {
  const inputs: SignatureInput[] = []
  for (const { groups = {} } of header.matchAll(entry)) {
    if (inputs.length === maxEntries) break
    const { label = '', text = '' } = groups
    const components = list.exec(text)?.groups?.components ?? ''
    inputs.push({
      label,
      text,
      components: [...components.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name),
      ...parametersIn(text),
    })
  }
  return inputs
}

/** The bytes of the signature of that label, in base64. */
export function signatureOf(header: string, label: string): string | undefined {
  const all = header.matchAll(/(?:^|,)\s*([a-z*][a-z\d_.*-]*)=:([A-Za-z\d+/]*={0,2}):/g)
  for (const [, name, value] of all) if (name === label) return value
  return undefined
}

function parametersIn(text: string): Omit<SignatureInput, 'label' | 'components' | 'text'> {
  const found: Record<string, string | number> = {}
  const behind = text.slice(text.indexOf(')') + 1)
  for (const { groups = {} } of behind.matchAll(new RegExp(parameter, 'g'))) {
    const { name = '', text: word, number } = groups
    found[name] = number === undefined ? (word ?? '') : Number(number)
  }
  const { created, expires, keyid, alg, nonce } = found
  return {
    ...(typeof created === 'number' && { created }),
    ...(typeof expires === 'number' && { expires }),
    ...(typeof keyid === 'string' && { keyid }),
    ...(typeof alg === 'string' && { alg }),
    ...(typeof nonce === 'string' && { nonce }),
  }
}

/** Groups of a part would stand twice in the whole. */
function withoutNames({ source }: RegExp): string {
  return source.replace(/\(\?<[a-z]+>/g, '(?:')
}
