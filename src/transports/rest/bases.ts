/**
 * What the paths of REST may follow: the address of the card and the prefix of the version. Some cards have the prefix
 * in the address already, others forget what the server itself was mounted at.
 */
export function possibleBases(url: string, prefix: string): readonly string[] {
  const plain = url.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  const bare = plain.replace(/\/v1$/, '')
  const other = prefix === '' ? `${bare}/v1` : bare
  return [...new Set([`${plain}${prefix}`, plain, other, `${bare}${prefix}`])]
}
