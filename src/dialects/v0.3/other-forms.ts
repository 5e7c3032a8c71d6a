/** What a caller who mixes other versions of A2A into 0.3 should write instead. */

const partForms = 'in 0.3 write {"kind": "text", "text": …}, {"kind": "file", "file": …} or {"kind": "data", "data": …}'

export function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || 'kind' in value) return undefined
  if ('type' in value) return `a part with "type" looks like A2A 0.1; ${partForms}`
  if ('text' in value || 'raw' in value || 'url' in value) {
    return `a part without "kind" looks like A2A 1.0; ${partForms}`
  }
  return undefined
}

export function hintForRole(value: unknown): string | undefined {
  if (value !== 'ROLE_USER' && value !== 'ROLE_AGENT') return undefined
  return `"${value}" looks like A2A 1.0; in 0.3 write "${value.slice(5).toLowerCase()}"`
}
