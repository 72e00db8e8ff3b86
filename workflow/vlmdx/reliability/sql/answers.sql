-- One row per (item, corruption, severity) that has score rows: the answer and its measures.
-- Probabilities are the stored float32 `prob` taken as float64, not renormalised; the log-likelihood is the stored
-- `logprob`, which stays finite where `prob` underflows to 0. Formulas: vlmdx/reliability/measures.py.

CREATE TABLE answers AS
WITH grouped AS (
    SELECT item_id, corruption, severity,
           count(*) AS options,
           min(option_index) AS first_index, max(option_index) AS last_index,
           -- One bad option spoils the distribution: the whole answer is set aside, never read as option A.
           min(reason) AS reason,
           bool_and(coalesce(isfinite(p) AND isfinite(logprob) AND chosen IS NOT NULL, false)) AS usable,
           count(*) FILTER (chosen) AS n_chosen,
           count(*) FILTER (is_gold) AS n_gold,
           min(option_index) FILTER (is_gold) AS gold,
           sum(p) AS total,
           max(p) AS confidence,
           max(p) FILTER (chosen) AS p_chosen,
           bool_or(chosen AND is_gold) AS correct,
           -sum(CASE WHEN p > 0 THEN p * ln(p) ELSE 0 END) AS nats,
           sum((p - is_gold::INT) ** 2) AS brier,
           -max(logprob) FILTER (is_gold) AS nll,
           max(letter_mass) AS letter_mass,
           bool_or(tied) AS tied,
           min(filename) AS filename
    FROM scores
    GROUP BY item_id, corruption, severity
)
SELECT *,
       -- + 0.0 turns -0.0 into 0.0; the bound takes off what float32 rounding adds to a uniform distribution.
       CASE WHEN options > 1 THEN least(1.0, greatest(0.0, nats / ln(options))) + 0.0 END AS entropy,
       abs(confidence - correct::INT) AS misalignment
FROM grouped
ORDER BY item_id, corruption, severity;
