/** What a caller who mixes older versions of A2A into 1.0 should write instead. */

const partForms = 'in 1.0 write {"text": …}, {"raw": base64}, {"url": …} or {"data": …}'

export function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.2 or 0.3; ${partForms}`
  if ('type' in value) return `a part with "type" looks like A2A 0.1; ${partForms}`
  return undefined
}

export function hintForRole(value: unknown): string | undefined {
  if (value !== 'user' && value !== 'agent') return undefined
  return `"${value}" looks like A2A 0.3 or older; in 1.0 write "ROLE_${value.toUpperCase()}"`
}
