-- Finds a ciphertext that was read before: one that comes again in another event is a copy that somebody else made.
CREATE INDEX matrix_inbox_cipher ON matrix_inbox ((clear->>'cipher')) WHERE clear IS NOT NULL;
