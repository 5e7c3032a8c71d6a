/** What a caller who mixes later versions of A2A into 0.1 should write instead. */

const partForms = 'in 0.1 write {"type": "text", "text": …}, {"type": "file", "file": …} or {"type": "data", "data": …}'

export function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || 'type' in value) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.2 or 0.3; ${partForms}`
  if ('text' in value || 'raw' in value || 'url' in value || 'data' in value) {
    return `a part without "type" looks like A2A 1.0; ${partForms}`
  }
  return undefined
}

export function hintForRole(value: unknown): string | undefined {
  if (value !== 'ROLE_USER' && value !== 'ROLE_AGENT') return undefined
  return `"${value}" looks like A2A 1.0; in 0.1 write "${value.slice(5).toLowerCase()}"`
}
