const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/a2a+json', 'application/json-rpc'])

const parameter = /;\s*([^\s;=]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]*)/g

/** Whether a `Content-Type` declares JSON that we read: one of the types in use, in UTF-8. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  if (contentType === 'application/json') return true
  const [type = ''] = contentType.split(';', 1)
  return jsonTypes.has(type.trim().toLowerCase()) && isUtf8(contentType.slice(type.length))
}

function isUtf8(parameters: string): boolean {
  for (const [, name = '', value = ''] of parameters.matchAll(parameter)) {
    if (name.toLowerCase() === 'charset' && !/^"?utf-?8"?$/i.test(value)) return false
  }
  return true
}
