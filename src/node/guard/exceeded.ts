/** A time limit of a request, told apart by its code as those of Node are. */
export class Exceeded extends Error {
  override readonly name = 'Exceeded'
  readonly code: `ERR_${'CONNECT' | 'HEADERS' | 'BODY' | 'TOTAL'}_TIMEOUT`

  constructor(what: 'connect' | 'headers' | 'body' | 'total', milliseconds: number) {
    super(`${sayings[what]} within ${milliseconds / 1000} seconds`)
    this.code = `ERR_${what.toUpperCase() as 'CONNECT' | 'HEADERS' | 'BODY' | 'TOTAL'}_TIMEOUT`
  }
}

const sayings = {
  connect: 'there was no connection',
  headers: 'there was no answer',
  body: 'nothing more of the answer came',
  total: 'the answer was not complete',
}
