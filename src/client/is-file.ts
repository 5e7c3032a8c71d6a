/** Whether a text means a file rather than an address: `file:…`, or a path of which nothing else can be made. */
export function isFile(address: string | URL): boolean {
  if (isFileUrl(address)) return true
  if (URL.canParse(`${address}`) && !/^[a-z]:[\\/]/i.test(`${address}`)) return false
  return /^\.{0,2}[\\/]|\.json$|^[a-z]:[\\/]/i.test(`${address}`)
}

export function isFileUrl(address: string | URL): boolean {
  return /^file:/i.test(`${address}`)
}
