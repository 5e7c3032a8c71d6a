/** A secret, or what gives the one that is valid now. */
export type Secret = string | (() => string | Promise<string>)

export async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}
