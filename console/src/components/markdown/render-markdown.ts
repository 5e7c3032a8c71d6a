import DOMPurify from 'dompurify'
import { Marked, type Token, type Tokens } from 'marked'

/** A block of a text: a paragraph, a list, a table, a code block. */
export interface MarkdownBlock {
  readonly raw: string
  readonly token: Token
}

const marked = new Marked({
  gfm: true,
  renderer: {
    // HTML of an agent is shown as text.
    html: ({ text }) => escapeHtml(text),
    link({ href, title, tokens }) {
      const content = this.parser.parseInline(tokens)
      const address = externalAddress(href)
      if (!address) return content
      const tooltip = escapeHtml(title ? `${title} (${address})` : address)
      return `<a href="${escapeHtml(address)}" title="${tooltip}">${content}</a>`
    },
    image({ href, text }) {
      const label = escapeHtml(text || 'Image')
      if (isLocalImage(href)) return `<img src="${escapeHtml(href)}" alt="${label}">`
      // Loading it would show the agent that, when and from where the page was read.
      const address = externalAddress(href)
      return address ? `<a href="${escapeHtml(address)}">${label} (${escapeHtml(address)})</a>` : label
    },
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
})

/** Elements that Markdown can produce, and no others. */
const purifier = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li', 'pre', 'code', 'em'],
    ...['strong', 'del', 'a', 'img', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'title', 'src', 'alt', 'start', 'align'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|blob:)/i,
  ADD_URI_SAFE_ATTR: ['start', 'align'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
}

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName === 'A') {
    node.setAttribute('target', '_blank')
    node.setAttribute('rel', 'noopener noreferrer nofollow')
  }
  if (node.nodeName === 'IMG' && !isLocalImage(node.getAttribute('src') ?? '')) node.remove()
})

/** The HTML of a block, which can neither run scripts nor load anything. */
export function renderBlock({ token }: MarkdownBlock): string {
  return DOMPurify.sanitize(marked.parser([token]), purifier)
}

/** Whether a block is a code block, which gets a button for copying. */
export function isCode(token: Token): token is Tokens.Code {
  return token.type === 'code'
}

/** Splits growing texts into blocks. Only the end of a text is read again when more of it has arrived. */
export interface MarkdownReader {
  read(text: string): readonly MarkdownBlock[]
}

export function createMarkdownReader(): MarkdownReader {
  let stable: MarkdownBlock[] = []
  let stableText = ''
  return {
    read(text) {
      if (!text.startsWith(stableText)) {
        stable = []
        stableText = ''
      }
      const tail = marked.lexer(text.slice(stableText.length)).map((token) => ({ raw: token.raw, token }))
      // The last block can still change, and a blank line after a list can turn out to be a part of it.
      const finished = tail.slice(0, -2)
      const finishedText = finished.map(({ raw }) => raw).join('')
      const isExact = text.startsWith(finishedText, stableText.length)
      if (!isExact) return [...stable, ...tail]
      stable = [...stable, ...finished]
      stableText += finishedText
      return [...stable, ...tail.slice(finished.length)]
    },
  }
}

function externalAddress(href: string): string | undefined {
  if (!/^(?:https?:|mailto:)/i.test(href)) return undefined
  try {
    return new URL(href).href
  } catch {
    return undefined
  }
}

function isLocalImage(address: string): boolean {
  return /^(?:data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]|blob:)/i.test(address)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
