/** The first Node with `node:sqlite` and no flag. `package.json` says the same. */
const lowest = [22, 13] as const

const { node, bun, deno }: Readonly<Record<string, string | undefined>> = globalThis.process?.versions ?? {}

// Bun and Deno name the version of Node whose modules they imitate.
if (node !== undefined && bun === undefined && deno === undefined && isTooOld(node)) {
  throw new Error(
    `parley-a2a needs Node ${lowest.join('.')} or newer, and this is Node ${node}. Install a newer one from https://nodejs.org.`,
  )
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < lowest[0] || (major === lowest[0] && minor < lowest[1])
}
