/** A UUID; `crypto.randomUUID` is only there in secure contexts: in others it is as many bits of chance. */
export function newId(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
}
