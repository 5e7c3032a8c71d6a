import type { Part } from '../protocol/model.ts'

/** A part as models are shown it: files as files, everything else as text. */
export function toModelContent(part: Part) {
  const { mediaType = 'application/octet-stream', filename } = part
  const about = { type: 'file' as const, mediaType, ...(filename !== undefined && { filename }) }
  if ('raw' in part) return { ...about, data: { type: 'data' as const, data: part.raw } }
  if ('url' in part && /^https?:/i.test(part.url) && URL.canParse(part.url)) {
    return { ...about, data: { type: 'url' as const, url: new URL(part.url) } }
  }
  return { type: 'text' as const, text: asText(part) }
}

export function asText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return 'url' in part ? part.url : `[${part.filename ?? 'a file'}]`
}
