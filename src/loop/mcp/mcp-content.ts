import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Json, Part } from '../../protocol/model.ts'

type Block = CallToolResult['content'][number]

/** What a tool of MCP gives, as parts: its content, or what is structured of it if that is all there is. */
export function toParts({ content = [], structuredContent }: CallToolResult): readonly Part[] {
  const parts = content.map(toPart)
  if (structuredContent === undefined) return parts
  const data = { data: structuredContent as Json, mediaType: 'application/json' }
  // Servers repeat it as text for those who do not know of it.
  const text = JSON.stringify(structuredContent)
  const others = parts.filter((part) => !('text' in part && isSameJson(part.text, text)))
  return [data, ...others]
}

function isSameJson(one: string, other: string): boolean {
  try {
    return JSON.stringify(JSON.parse(one)) === other
  } catch {
    return false
  }
}

function toPart(block: Block): Part {
  switch (block.type) {
    case 'text':
      return { text: block.text }
    case 'image':
    case 'audio':
      return { raw: block.data, mediaType: block.mimeType }
    case 'resource_link':
      return { url: block.uri, filename: block.name, ...(block.mimeType && { mediaType: block.mimeType }) }
    case 'resource': {
      const { uri, mimeType } = block.resource
      const about = { filename: nameIn(uri), ...(mimeType && { mediaType: mimeType }) }
      return 'blob' in block.resource ? { raw: block.resource.blob, ...about } : { text: block.resource.text, ...about }
    }
  }
}

/** The last of its path. */
function nameIn(uri: string): string {
  return /([^/?#]+)\/?(?:[?#].*)?$/.exec(uri)?.[1] ?? uri
}
