/** What a caller who mixes other forms of A2A into the proto of 0.3 should write instead. */

const partForms =
  'in the proto of 0.3 write {"text": …}, {"file": {"fileWithBytes": base64}}, {"file": {"fileWithUri": …}} or {"data": {"data": {…}}}'

export function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.3 over JSON-RPC; ${partForms}`
  if ('type' in value) return `a part with "type" looks like A2A 0.1; ${partForms}`
  if ('raw' in value || 'url' in value) return `a part with "raw" or "url" looks like A2A 1.0; ${partForms}`
  return undefined
}

export function hintForRole(value: unknown): string | undefined {
  if (value !== 'user' && value !== 'agent') return undefined
  return `"${value}" looks like A2A 0.3 over JSON-RPC; in the proto write "ROLE_${value.toUpperCase()}"`
}
