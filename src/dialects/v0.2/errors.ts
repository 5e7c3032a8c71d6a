import { type ErrorKinds, errorEncoder, httpErrorEncoder, kinds, unsupported } from '../v0.3/errors.ts'

const olderKinds: ErrorKinds = { ...kinds, 'extended-card-not-configured': unsupported }

export const encodeError = errorEncoder(olderKinds)
export const encodeHttpError = httpErrorEncoder(olderKinds)
