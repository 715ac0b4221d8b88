// There is no code here. The compiler accepts functions without a body, which sleep.go links to the runtime, in packages with assembly only.
