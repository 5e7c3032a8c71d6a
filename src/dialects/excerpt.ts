/** The start of a caller's text, safe to print. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text)
}
