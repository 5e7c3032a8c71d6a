/**
 * An object as its maker sees it, while everybody else gets it readonly. Members that change are plain values and not
 * getters: a getter in an object literal is a hidden class of its own for every object, and these are made per request.
 */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }
